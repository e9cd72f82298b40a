//! Post: sends notifications and metrics over HTTP.

use copal_client::causes::with_causes;
use std::path::Path;
use std::time::Duration;

use reqwest::{Method, Url};

use crate::system::guarded;

/// Sends a body; the answer must be a success. Its errors name no address: addresses hold tokens.
pub(super) fn send(method: Method, address: &str, kind: &str, body: String) -> Result<(), String> {
    let url = Url::parse(address.trim()).map_err(|error| format!("its address is not valid: {error}"))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err("its address begins with neither https:// nor http://".into());
    }
    // Fails if another part of the program has installed the provider already, which is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let told = |error: reqwest::Error| with_causes(&error.without_url());
        let client = reqwest::Client::builder()
            .user_agent(concat!("copal/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .timeout(WAITS)
            .build()
            .map_err(told)?;
        let mut last = String::new();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(BETWEEN).await;
            }
            let request = client.request(method.clone(), url.clone()).header("content-type", kind).body(body.clone());
            match request.send().await {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                Ok(answer) if answer.status().is_client_error() => {
                    return Err(format!("the answer is {}", answer.status()));
                }
                Ok(answer) => last = format!("the answer is {}", answer.status()),
                Err(error) => last = told(error),
            }
        }
        Err(last)
    })
}

/// The first line of a small file with an address. Whoever changes it has reports sent elsewhere.
pub(super) fn line_of(path: &Path) -> Result<String, String> {
    let text = guarded::read(path, LONGEST).map_err(|error| format!("{} is not used: {error}", path.display()))?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

const WAITS: Duration = Duration::from_secs(20);
const BETWEEN: Duration = Duration::from_secs(2);
const ATTEMPTS: u32 = 3;
const LONGEST: u64 = 64 << 10;
