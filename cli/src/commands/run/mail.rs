//! Mail: sends a notification by SMTP.

use copal_client::causes::with_causes;
use std::sync::Arc;
use std::time::Duration;

use lettre::Message;
use lettre::message::{Mailbox, header::ContentType};
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use reqwest::Url;
use rustls_platform_verifier::ConfigVerifierExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::line::Line;
use super::post;
use crate::args::profile::Notify;

/// Sends a text. Passwords go only through TLS, or to a server on this machine. Ends in time, whatever the server does.
pub(super) fn send(notify: &Notify, subject: &str, text: &str) -> Result<(), String> {
    let mailbox =
        |text: &str| text.parse::<Mailbox>().map_err(|error| format!("{text:?} is no address of mail: {error}"));
    let from = notify.mail_from.as_deref().ok_or("it has no mail-from")?;
    // A subject is one line, whatever a path in it holds.
    let subject: String = subject.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
    let mut message = Message::builder().from(mailbox(from)?).subject(subject).header(ContentType::TEXT_PLAIN);
    for to in &notify.mail_to {
        message = message.to(mailbox(to)?);
    }
    let message = message.body(format!("{text}\n")).map_err(|error| error.to_string())?;
    Server::of(notify)?.take(&message, WAITS)
}

/// A mail server, and how to connect to it.
struct Server {
    host: String,
    port: u16,
    tls: Tls,
    credentials: Option<Credentials>,
}

#[derive(PartialEq, Eq)]
enum Tls {
    FromTheBeginning,
    AfterHello,
    /// The server is on this machine.
    NotNeededHere,
}

impl Server {
    fn of(notify: &Notify) -> Result<Self, String> {
        let url = Url::parse(&notify.smtp).map_err(|error| format!("smtp is no address: {error}"))?;
        let host = url.host_str().ok_or("smtp names no host")?;
        let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        if !url.username().is_empty() || url.password().is_some() {
            return Err("smtp holds a name or password: they belong to smtp-user and smtp-password-file".into());
        }
        let (tls, port) = match url.scheme() {
            "smtps" => (Tls::FromTheBeginning, 465),
            "smtp" if is_here => (Tls::NotNeededHere, 25),
            "smtp" => (Tls::AfterHello, 587),
            _ => return Err("smtp begins with neither smtp:// nor smtps://".into()),
        };
        let credentials = match &notify.smtp_user {
            None => None,
            Some(user) => {
                let file = notify.smtp_password_file.as_deref().ok_or("smtp-user needs smtp-password-file")?;
                Some(Credentials::new(user.clone(), post::line_of(file)?))
            }
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port: url.port().unwrap_or(port), tls, credentials })
    }

    /// Delivers a message within a time limit.
    fn take(&self, message: &Message, most: Duration) -> Result<(), String> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
        let spoken = runtime.block_on(async { tokio::time::timeout(most, self.speak(message)).await });
        // The name of a server is looked up in a thread, which may take longer.
        runtime.shutdown_background();
        spoken.unwrap_or_else(|_| Err(format!("the server {} took longer than {} s", self.host, most.as_secs())))
    }

    async fn speak(&self, message: &Message) -> Result<(), String> {
        // An error means that another part of the program has installed it already; all install ring.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let us = ClientId::default();
        let told = |error: lettre::transport::smtp::Error| with_causes(&error);
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(|error| with_causes(&error))?;
        let peer = stream.peer_addr().map_err(|error| error.to_string())?;
        let line = Line::new(stream, peer);
        let mut server = if self.tls == Tls::FromTheBeginning {
            let config = rustls::ClientConfig::with_platform_verifier().map_err(|error| with_causes(&error))?;
            let name = self.host.clone().try_into().map_err(|_| "smtp names a host that no certificate can name")?;
            let secured = TlsConnector::from(Arc::new(config)).connect(name, line).await;
            let secured = Line::new(secured.map_err(|error| with_causes(&error))?, peer);
            AsyncSmtpConnection::connect_with_transport(Box::new(secured), &us).await
        } else {
            AsyncSmtpConnection::connect_with_transport(Box::new(line), &us).await
        }
        .map_err(told)?;
        if self.tls == Tls::AfterHello {
            server.starttls(TlsParameters::new(self.host.clone()).map_err(told)?, &us).await.map_err(told)?;
        }
        if let Some(credentials) = &self.credentials {
            server.auth(DEFAULT_MECHANISMS, credentials).await.map_err(told)?;
        }
        server.send(message.envelope(), &message.formatted()).await.map_err(told)?;
        // The server has taken the message.
        let _ = server.quit().await;
        Ok(())
    }
}

/// The limit for the whole conversation.
const WAITS: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Instant;

    use super::*;

    /// What is told about a server that begins with a text, and then repeats another one for as long as anybody listens.
    fn told_of(tls: Tls, begins: &'static str, repeats: &'static [u8], pause: Duration) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(begins.as_bytes()).unwrap();
            while stream.write_all(repeats).is_ok() {
                std::thread::sleep(pause);
            }
        });
        let server = Server { host: "127.0.0.1".into(), port, tls, credentials: None };
        let message = Message::builder().from("a@b.c".parse().unwrap()).to("a@b.c".parse().unwrap());
        let begun = Instant::now();
        let told = server.take(&message.body(String::new()).unwrap(), Duration::from_secs(1)).unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(10), "{told}");
        told
    }

    #[test]
    fn a_server_that_never_comes_to_an_end_holds_no_run_up() {
        let slowly = Duration::from_millis(20);
        for (tls, begins) in
            [(Tls::NotNeededHere, "220 "), (Tls::AfterHello, "220 "), (Tls::FromTheBeginning, "\x16\x03\x03\x40\x00")]
        {
            let told = told_of(tls, begins, b"a", slowly);
            assert!(told.contains("took longer than 1 s"), "{told}");
        }
    }

    #[test]
    fn answers_without_end_take_no_memory() {
        for begins in ["220 ", "220-a\r\n220-"] {
            let told = told_of(Tls::NotNeededHere, begins, &[b'a'; 8192], Duration::ZERO);
            assert!(told.contains("more than 32 KiB"), "{told}");
        }
    }
}
