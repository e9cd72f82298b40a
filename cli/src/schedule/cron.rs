//! Cron: a line of a crontab for a profile.

use copal_client::places::this_host;

use super::{BadJob, Job, printed};

/// The line for a profile. A crontab of the machine also names the user.
pub fn line(job: &Job) -> Result<String, BadJob> {
    let fields = fields(job)?;
    let user = if job.is_system { "root " } else { "" };
    let variables = job.variables.iter().map(|(name, value)| Ok(format!("{name}={} ", quoted(value)?)));
    let variables: String = variables.collect::<Result<_, BadJob>>()?;
    let words: Result<Vec<String>, BadJob> = job.words()?.iter().map(|word| quoted(word)).collect();
    Ok(format!("{fields} {user}{variables}nice -n 10 {} {}", words?.join(" "), mark(&job.profile)))
}

/// The end of a profile's line: a comment for the shell.
pub fn mark(profile: &str) -> String {
    format!("# copal-{profile}")
}

/// The fields of the time. The minute depends on host and profile, and lies within the first hour of the jitter.
fn fields(job: &Job) -> Result<String, BadJob> {
    let schedule = &job.schedule;
    if let Some(fields) = &schedule.cron {
        return Ok(fields.clone());
    }
    let most = (schedule.jitter.0.as_secs() / 60).clamp(1, 60);
    let seed = format!("{}/{}", this_host(|_| None), job.profile);
    let minute = seed.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % most;
    Ok(match (schedule.at.as_str(), time_of(&schedule.at)) {
        (_, Some((hour, minute))) => format!("{minute} {hour} * * *"),
        ("hourly", _) => format!("{minute} * * * *"),
        ("daily", _) => format!("{minute} 0 * * *"),
        ("weekly", _) => format!("{minute} 0 * * 1"),
        ("monthly", _) => format!("{minute} 0 1 * *"),
        _ => return Err(BadJob::Calendar { profile: job.profile.clone(), at: schedule.at.clone() }),
    })
}

fn time_of(at: &str) -> Option<(u8, u8)> {
    let (hour, minute) = at.split_once(':')?;
    let number = |text: &str, below: u8| text.parse::<u8>().ok().filter(|&n| n < below && text.len() <= 2);
    Some((number(hour, 24)?, number(minute, 60)?))
}

/// A word for the shell; a bare `%` would be a line end for cron.
fn quoted(text: &str) -> Result<String, BadJob> {
    let text = printed(text.to_owned())?;
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-=:,@+".contains(sign);
    match text.chars().all(is_plain) && !text.is_empty() {
        true => Ok(text),
        false => Ok(format!("'{}'", text.replace('\'', "'\\''").replace('%', "\\%"))),
    }
}
