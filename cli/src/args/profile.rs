//! Profile: what a profile says that is no option of a command. Each struct is a table of the file, each field a key.

use clap::Args;

use super::values::Span;

/// Keys of the profile itself.
#[derive(Args, Debug, Default)]
pub struct Own {
    /// Profiles to take all keys and tables from that this one does not have; the later one counts before the earlier.
    #[arg(long = "use", value_name = "PROFILE")]
    pub uses: Vec<String>,
}

/// When a profile is run.
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

/// Only signs of calendars: the text goes into a unit.
fn when(text: &str) -> Result<String, String> {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || " *,:/.~_-".contains(sign);
    match !text.trim().is_empty() && text.chars().all(is_sign) {
        true => Ok(text.trim().to_owned()),
        false => Err("a calendar is like daily, 03:30 or \"Mon..Fri 22:00\" (systemd.time explains it)".into()),
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
    fn calendars_hold_nothing_that_ends_their_line() {
        assert_eq!(when(" Mon..Fri *-*-* 22:00 ").as_deref(), Ok("Mon..Fri *-*-* 22:00"));
        for bad in ["", "daily\nExecStart=/bin/x", "daily%h", "$(x)", "daily;"] {
            assert!(when(bad).is_err(), "{bad:?}");
        }
        assert_eq!(fields("17  3 * * 1-5\n").as_deref(), Ok("17 3 * * 1-5"));
        for bad in ["", "17 3 * *", "17 3 * * * root", "@daily", "1 2 3 4 %"] {
            assert!(fields(bad).is_err(), "{bad:?}");
        }
    }
}
