//! Profile: what a profile says that is no option of a command. Each struct is a table of the file, each field a key.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::calendar::when;
use super::values::Span;

/// Keys of the profile itself.
#[derive(Args, Clone, Debug, Default)]
pub struct Own {
    /// Profiles to take all keys and tables from that this one does not have; the later one counts before the earlier.
    #[arg(long = "use", value_name = "PROFILE")]
    pub uses: Vec<String>,
    /// Notification tables [notify.NAME] to use for this profile.
    #[arg(long, value_name = "NAME")]
    pub notify: Vec<String>,
    /// Write numbers of each run to this file for Prometheus' node exporter; its name ends in .prom.
    #[arg(long, value_name = "FILE")]
    pub metrics_file: Option<PathBuf>,
    /// Push numbers of each run to the Prometheus push gateway at this address.
    #[arg(long, value_name = "URL", conflicts_with = "metrics_push_file")]
    pub metrics_push: Option<String>,
    /// File whose first line is the address of the push gateway.
    #[arg(long, value_name = "FILE")]
    pub metrics_push_file: Option<PathBuf>,
    /// Send numbers and traces of each run to the OpenTelemetry receiver (OTLP/HTTP) at this address.
    #[arg(long, value_name = "URL", conflicts_with = "otlp_file")]
    pub otlp: Option<String>,
    /// File whose first line is the address of that receiver.
    #[arg(long, value_name = "FILE")]
    pub otlp_file: Option<PathBuf>,
    /// File with headers for that receiver, one a line: Authorization: Bearer TOKEN.
    #[arg(long, value_name = "FILE")]
    pub otlp_headers_file: Option<PathBuf>,
}

#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(group = clap::ArgGroup::new("address").required(true).args(["webhook", "webhook_file", "webhook_variable", "mail_to"]))]
pub struct Notify {
    /// Address to send to. It is a secret if it holds a token: then name a file or variable instead.
    #[arg(long, value_name = "URL")]
    pub webhook: Option<String>,
    /// File whose first line is the address.
    #[arg(long, value_name = "FILE")]
    pub webhook_file: Option<PathBuf>,
    /// Variable that holds the address.
    #[arg(long, value_name = "NAME")]
    pub webhook_variable: Option<String>,
    /// Address of mail to send to; may be repeated: all of them.
    #[arg(long, value_name = "MAIL", requires = "mail_from")]
    pub mail_to: Vec<String>,
    /// Address that the mail comes from.
    #[arg(long, value_name = "MAIL")]
    pub mail_from: Option<String>,
    /// Server of mail: smtps://HOST, or smtp://HOST, where TLS is begun (but not on this machine).
    #[arg(long, value_name = "SERVER", default_value = "smtp://localhost")]
    pub smtp: String,
    /// Name for that server.
    #[arg(long, value_name = "NAME", requires = "smtp_password_file")]
    pub smtp_user: Option<String>,
    /// File whose first line is the password for that server.
    #[arg(long, value_name = "FILE")]
    pub smtp_password_file: Option<PathBuf>,
    /// What is sent: text (ntfy), slack (also Mattermost, Matrix by Hookshot), healthchecks, or json with the whole report.
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Text)]
    pub form: Form,
    /// What is sent instead, with {text}, {profile}, {host}, {event} and {exit_code}; JSON if it begins with { or [.
    #[arg(long, value_name = "TEMPLATE")]
    pub body: Option<String>,
    /// When something is sent: failure, recovery, success, stale (no backup for long), weekly (a summary).
    #[arg(long, value_name = "EVENT", value_enum)]
    pub on: Vec<Event>,
    /// How old the newest backup is before it is stale.
    #[arg(long, value_name = "SPAN", default_value = "3d")]
    pub stale_after: Span,
}

#[derive(ValueEnum, Copy, Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A line of text.
    Text,
    /// An object with the text.
    Slack,
    /// A ping; the address of a failure ends in /fail.
    Healthchecks,
    /// An object with the report.
    Json,
}

#[derive(ValueEnum, Copy, Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A run failed.
    Failure,
    /// A run went well after one that failed.
    Recovery,
    /// A run went well.
    Success,
    /// There is no backup for long.
    Stale,
    /// A week is over.
    Weekly,
}

impl Event {
    pub fn name(self) -> String {
        self.to_possible_value().expect("no event is hidden").get_name().to_owned()
    }
}

impl Notify {
    /// When something is sent. A service that watches for pings hears of every run.
    pub fn events(&self) -> Vec<Event> {
        match (self.on.as_slice(), self.form) {
            ([], Form::Healthchecks) => vec![Event::Success, Event::Failure],
            ([], _) => vec![Event::Failure, Event::Recovery, Event::Stale],
            (events, _) => events.to_vec(),
        }
    }
}

#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// When to run: hourly, daily, weekly, monthly, a time like 03:30, or any OnCalendar of systemd like "Mon..Fri 22:00".
    #[arg(long, value_name = "WHEN", default_value = "daily", value_parser = when)]
    pub at: String,
    /// Begin up to this much later, at random, so that not all machines begin at once.
    #[arg(long, value_name = "SPAN", default_value = "1h")]
    pub jitter: Span,
    /// When to run where cron does it, like "17 3 * * *"; needed only if "at" is more than a word or a time.
    #[arg(long, value_name = "FIELDS", value_parser = fields)]
    pub cron: Option<String>,
}

#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct Hooks {
    /// Run before the backup; if it fails, nothing is saved.
    #[arg(long, value_name = "COMMAND")]
    pub before_backup: Vec<OsString>,
    /// Run after backup, also if it failed or its earlier hook did.
    #[arg(long, value_name = "COMMAND")]
    pub after_backup: Vec<OsString>,
    /// Run before snapshots are copied; if it fails, none is.
    #[arg(long, value_name = "COMMAND")]
    pub before_copy: Vec<OsString>,
    /// Run after copy, also if it failed or its earlier hook did.
    #[arg(long, value_name = "COMMAND")]
    pub after_copy: Vec<OsString>,
    /// Run before snapshots are forgotten; if it fails, none is.
    #[arg(long, value_name = "COMMAND")]
    pub before_forget: Vec<OsString>,
    /// Run after forget, also if it failed or its earlier hook did.
    #[arg(long, value_name = "COMMAND")]
    pub after_forget: Vec<OsString>,
    /// Run before space is freed; if it fails, nothing is.
    #[arg(long, value_name = "COMMAND")]
    pub before_prune: Vec<OsString>,
    /// Run after prune, also if it failed or its earlier hook did.
    #[arg(long, value_name = "COMMAND")]
    pub after_prune: Vec<OsString>,
    /// Run before the repository is verified; if it fails, nothing is.
    #[arg(long, value_name = "COMMAND")]
    pub before_check: Vec<OsString>,
    /// Run after check, also if it failed or its earlier hook did.
    #[arg(long, value_name = "COMMAND")]
    pub after_check: Vec<OsString>,
    /// Run once if the profile fails.
    #[arg(long, value_name = "COMMAND")]
    pub on_failure: Vec<OsString>,
    /// End a hook that takes longer; it has failed.
    #[arg(long, value_name = "SPAN", default_value = "10min")]
    pub timeout: Span,
}

impl Hooks {
    pub fn named(&self, key: &str) -> Option<&[OsString]> {
        let command = match key {
            "before-backup" => &self.before_backup,
            "after-backup" => &self.after_backup,
            "before-copy" => &self.before_copy,
            "after-copy" => &self.after_copy,
            "before-forget" => &self.before_forget,
            "after-forget" => &self.after_forget,
            "before-prune" => &self.before_prune,
            "after-prune" => &self.after_prune,
            "before-check" => &self.before_check,
            "after-check" => &self.after_check,
            "on-failure" => &self.on_failure,
            _ => return None,
        };
        (!command.is_empty()).then_some(command)
    }
}

/// Only signs of crontabs: the text goes into one.
fn fields(text: &str) -> Result<String, String> {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "*,/-".contains(sign);
    let fields: Vec<&str> = text.split_whitespace().collect();
    match fields.len() == 5 && fields.iter().all(|field| field.chars().all(is_sign)) {
        true => Ok(fields.join(" ")),
        false => Err("a crontab has five fields, like \"17 3 * * *\": minute, hour, day, month, weekday".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crontabs_hold_nothing_that_ends_their_line() {
        assert_eq!(fields("17  3 * * 1-5\n").as_deref(), Ok("17 3 * * 1-5"));
        for bad in ["", "17 3 * *", "17 3 * * * root", "@daily", "1 2 3 4 %"] {
            assert!(fields(bad).is_err(), "{bad:?}");
        }
    }
}
