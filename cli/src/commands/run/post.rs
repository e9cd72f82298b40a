//! Post: sends notifications and metrics over HTTP.

use copal_client::causes::with_causes;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response, StatusCode, Url};

use crate::system::guarded;

/// Why a body did not arrive. It names no address: addresses hold tokens.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unsent {
    #[error("the answer is {0}")]
    Refused(StatusCode),
    #[error("{0}")]
    Failed(String),
}

/// Sends a body; the answer must be a success. Gives the beginning of the answer.
pub(super) fn send(
    method: Method,
    address: &str,
    kind: &str,
    headers: &HeaderMap,
    body: String,
) -> Result<String, Unsent> {
    let url = parsed(address).map_err(Unsent::Failed)?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(Unsent::Failed("its address begins with neither https:// nor http://".into()));
    }
    // Fails if another part of the program has installed the provider already, which is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Unsent::Failed(error.to_string()))?.block_on(async {
        let told = |error: reqwest::Error| Unsent::Failed(with_causes(&error.without_url()));
        let client = reqwest::Client::builder()
            .user_agent(concat!("copal/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .timeout(WAITS)
            .build()
            .map_err(told)?;
        let mut last = Unsent::Failed(String::new());
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(BETWEEN).await;
            }
            let request = client.request(method.clone(), url.clone()).headers(headers.clone());
            match request.header(CONTENT_TYPE, kind).body(body.clone()).send().await {
                Ok(answer) if answer.status().is_success() => return Ok(begin_of(answer).await),
                Ok(answer) => {
                    last = Unsent::Refused(answer.status());
                    if answer.status().is_client_error() && answer.status() != StatusCode::TOO_MANY_REQUESTS {
                        break;
                    }
                }
                Err(error) => last = told(error),
            }
        }
        Err(last)
    })
}

/// The first bytes of an answer. Even if the answer cannot be read to its end, the body has arrived.
async fn begin_of(mut answer: Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST as usize
        && let Ok(Some(more)) = answer.chunk().await
    {
        bytes.extend_from_slice(&more);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The address in a profile, or in the file that its other key names.
pub(super) fn address(direct: &Option<String>, file: &Option<PathBuf>) -> Option<Result<String, String>> {
    match (direct, file) {
        (Some(address), _) => Some(Ok(address.clone())),
        (None, file) => file.as_deref().map(line_of),
    }
}

/// The address with these names at the end of its path, before a query.
pub(super) fn below(address: &str, names: &[&str]) -> Result<String, String> {
    let mut url = parsed(address)?;
    url.path_segments_mut().map_err(|()| "its address has no path")?.pop_if_empty().extend(names);
    Ok(url.into())
}

fn parsed(address: &str) -> Result<Url, String> {
    Url::parse(address.trim()).map_err(|error| format!("its address is not valid: {error}"))
}

/// The first line of a small file with an address. A change of that file would send reports elsewhere.
pub(super) fn line_of(path: &Path) -> Result<String, String> {
    Ok(text_of(path)?.lines().next().unwrap_or_default().trim().to_owned())
}

/// A small file that nobody else may change.
pub(super) fn text_of(path: &Path) -> Result<String, String> {
    guarded::read(path, LONGEST).map_err(|error| format!("{} is not used: {error}", path.display()))
}

const WAITS: Duration = Duration::from_secs(20);
const BETWEEN: Duration = Duration::from_secs(2);
const ATTEMPTS: u32 = 3;
const LONGEST: u64 = 64 << 10;
