//! Mail: sends a notification by SMTP.

use std::time::Duration;

use lettre::message::{Mailbox, header::ContentType};
use lettre::transport::smtp::authentication::Credentials;
use lettre::{Message, SmtpTransport, Transport};
use reqwest::Url;

use super::post;
use crate::args::profile::Notify;
use crate::report::with_causes;

/// Sends a text. Names and passwords travel by TLS only, or stay on this machine.
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
    transport(notify)?.send(&message).map(drop).map_err(|error| with_causes(&error))
}

fn transport(notify: &Notify) -> Result<SmtpTransport, String> {
    let url = Url::parse(&notify.smtp).map_err(|error| format!("smtp is no address: {error}"))?;
    let host = url.host_str().ok_or("smtp names no host")?;
    let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    if !url.username().is_empty() || url.password().is_some() {
        return Err("smtp holds a name or password: they belong to smtp-user and smtp-password-file".into());
    }
    let builder = match url.scheme() {
        "smtps" => SmtpTransport::relay(host),
        "smtp" if is_here => Ok(SmtpTransport::builder_dangerous(host)),
        "smtp" => SmtpTransport::starttls_relay(host),
        _ => return Err("smtp begins with neither smtp:// nor smtps://".into()),
    };
    let mut builder = builder.map_err(|error| with_causes(&error))?.timeout(Some(WAITS));
    if let Some(port) = url.port() {
        builder = builder.port(port);
    }
    if let Some(user) = &notify.smtp_user {
        let file = notify.smtp_password_file.as_deref().ok_or("smtp-user needs smtp-password-file")?;
        builder = builder.credentials(Credentials::new(user.clone(), post::line_of(file)?));
    }
    Ok(builder.build())
}

const WAITS: Duration = Duration::from_secs(20);
