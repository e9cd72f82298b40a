//! Notice: tells people and other programs what became of a run.

use copal_client::places::this_host;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::lock::Lock;
use super::past::{self, DAY, Past};
use super::{mail, post};
use crate::args::profile::{Event, Form, Notify};
use crate::commands::context::Context;
use crate::config::{Config, Profile};
use crate::report::human;
use crate::report::run::ProfileReport;

/// Writes down how a run ended, and sends the notifications for it. If one cannot be sent, that is a warning.
pub(super) fn of_run(context: &Context<'_>, config: &Config, profile: &Profile, report: &ProfileReport) {
    let text = report.told();
    about(context, config, profile, |past, now| {
        past.take(report, now).into_iter().map(|event| (event, text.clone(), Some(report))).collect()
    });
}

/// Sends what is due by the clock, also for profiles that nobody runs any more.
pub(super) fn by_clock(context: &Context<'_>, config: &Config, profile: &Profile) {
    if profile.backup.is_none() {
        return;
    }
    let asks = |notify: &Notify| notify.events().contains(&Event::Stale);
    let stale_after =
        config.notify_of(profile).filter(|(_, notify)| asks(notify)).map(|(_, notify)| notify.stale_after.0);
    let soonest = stale_after.min().unwrap_or(std::time::Duration::MAX);
    about(context, config, profile, |past, now| {
        let (runs, failures) = (past.runs, past.failures);
        let mut told = Vec::new();
        for event in past.by_clock(now, soonest) {
            let (name, days) = (&profile.name, past.age(now) / DAY);
            let text = match event {
                Event::Weekly => {
                    let runs = human::things(runs.into(), "run", "runs");
                    let last = match past.saved {
                        0 => "no backup yet".to_owned(),
                        _ => format!("the last backup is {days} days old"),
                    };
                    format!("profile {name}: {runs} this week, {failures} failed; {last}")
                }
                _ => format!("profile {name}: no backup for {days} days"),
            };
            told.push((event, text, None));
        }
        told
    });
}

fn about<'r>(
    context: &Context<'_>,
    config: &Config,
    profile: &Profile,
    happened: impl FnOnce(&mut Past, i64) -> Vec<(Event, String, Option<&'r ProfileReport>)>,
) {
    // Without a state directory the memory is empty and is not kept. People are still told how this run ended.
    let state = context.places().ok().map(|places| places.state().to_owned());
    // Without the lock, two runs at once may notify twice, or one may overwrite what the other has noted.
    let lock = state.as_deref().map(Lock::of_memory);
    let path = state.as_deref().map(|state| past::path(state, &profile.name));
    let mut past = path.as_deref().map(Past::read).unwrap_or_default();
    let now = jiff::Timestamp::now().as_second();
    let before = past.clone();
    let events = happened(&mut past, now);
    // The file is written before notifications are sent: sending may take a minute, and another run may write meanwhile.
    if past != before
        && let Some(path) = &path
        && let Err(failure) = past.write(path)
    {
        context.report.warn(&format!("this machine could not note how the run ended: {}", failure.text()));
    }
    drop(lock);
    for (event, text, report) in events {
        let is_due = |notify: &Notify| {
            let is_old = u64::try_from(past.age(now)).is_ok_and(|age| age > notify.stale_after.0.as_secs());
            notify.events().contains(&event) && (event != Event::Stale || is_old)
        };
        for (name, notify) in config.notify_of(profile).filter(|(_, notify)| is_due(notify)) {
            if let Err(why) = sent(notify, event, &profile.name, &text, report) {
                context.report.warn(&format!("notification {name} could not be sent: {why}"));
            }
        }
    }
}

fn sent(
    notify: &Notify,
    event: Event,
    profile: &str,
    text: &str,
    report: Option<&ProfileReport>,
) -> Result<(), String> {
    let (host, happened) = (this_host(|name| std::env::var_os(name)), event.name());
    if !notify.mail_to.is_empty() {
        return mail::send(notify, &format!("copal on {host}: {profile}: {happened}"), text);
    }
    let address = match (&notify.webhook, &notify.webhook_file, &notify.webhook_variable) {
        (Some(address), _, _) => address.clone(),
        (None, Some(file), _) => post::line_of(file)?,
        (None, None, Some(name)) => std::env::var(name).map_err(|_| format!("the variable {name} is not set"))?,
        (None, None, None) => return Err("it has no address".into()),
    };
    // Healthchecks reads the event from the path, not from the body. The bare address means success.
    let address = if notify.form == Form::Healthchecks { pinged(&address, event)? } else { address };
    let message = format!("{host}: {text}");
    let mut kind = "text/plain; charset=utf-8";
    let body = match (&notify.body, notify.form) {
        (Some(template), _) => {
            let is_json = template.trim_start().starts_with(['{', '[']);
            kind = if is_json { "application/json" } else { kind };
            let code = report.map(|report| report.exit.code().to_string()).unwrap_or_default();
            let values = [("{text}", text), ("{profile}", profile), ("{host}", &host), ("{event}", &happened)];
            filled(template, &[&values[..], &[("{exit_code}", &code)]].concat(), is_json)
        }
        (None, Form::Text | Form::Healthchecks) => message,
        (None, Form::Slack) => {
            kind = "application/json";
            json!({ "text": message }).to_string()
        }
        (None, Form::Json) => {
            kind = "application/json";
            let report = report.map_or(Value::Null, |report| serde_json::to_value(report).unwrap_or_default());
            json!({ "event": happened, "host": host, "profile": profile, "text": text, "report": report }).to_string()
        }
    };
    post::send(reqwest::Method::POST, &address, kind, &HeaderMap::new(), body).map(drop).map_err(|why| why.to_string())
}

/// The address that tells Healthchecks of an event: its word goes at the end of the path, before a query.
fn pinged(address: &str, event: Event) -> Result<String, String> {
    let last = match event {
        Event::Success | Event::Recovery => return Ok(address.to_owned()),
        Event::Failure | Event::Stale => "fail",
        Event::Weekly => "log",
    };
    post::below(address, &[last])
}

/// A template with its placeholders filled, in one pass: placeholders in the values stay as they are.
fn filled(template: &str, values: &[(&str, &str)], is_json: bool) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                let quoted = json!(value).to_string();
                text.push_str(if is_json { &quoted[1..quoted.len() - 1] } else { value });
                rest = &rest[name.len()..];
            }
            None => {
                text.push('{');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_no_success_at_an_address_with_a_query() {
        let of = |address, event| pinged(address, event).unwrap();
        assert_eq!(of("https://hc/ping/k?create=1", Event::Failure), "https://hc/ping/k/fail?create=1");
        assert_eq!(of("https://hc/ping/k/", Event::Stale), "https://hc/ping/k/fail");
        assert_eq!(of("https://hc/ping/k", Event::Weekly), "https://hc/ping/k/log");
        assert_eq!(of("https://hc/ping/k?create=1", Event::Success), "https://hc/ping/k?create=1");
    }

    #[test]
    fn a_template_is_filled_once_and_stays_json() {
        let values = [("{text}", "a \"b\"\n{host}"), ("{host}", "h")];
        let body = filled("{\"m\": \"{text} on {host} {x}\"}", &values, true);
        let read: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(read["m"], "a \"b\"\n{host} on h {x}");
        assert_eq!(filled("{host}: {text}", &values, false), "h: a \"b\"\n{host}");
    }
}
