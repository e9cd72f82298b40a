//! What a run of profiles says.

use super::*;
use crate::args::schedule::Timer;
use crate::config::Act;
use crate::report::run::{ActReport, Checked, CheckedProfile, ProfileReport, Removed, Scheduled};

/// One of each result, with every optional field.
pub(super) fn samples() -> Vec<(&'static str, Value)> {
    let (profile, at) = ("home".to_owned(), "daily".to_owned());
    let removed = Removed { profiles: vec![profile.clone()] };
    vec![
        ("run", json_of(&profile_report())),
        ("config check", json_of(&checked())),
        ("schedule list", json_of(&Scheduled { profile, by: Timer::Cron, at, installed: true, current: false })),
        ("schedule remove", json_of(&removed)),
    ]
}

fn profile_report() -> ProfileReport {
    let mut report = ProfileReport::new("home", false);
    report.add(ActReport::new(Act::Backup, jiff::Timestamp::UNIX_EPOCH, vec![Value::Null]));
    let failed = ActReport {
        exit: Exit::Damage,
        error: Some(Value::from("why")),
        ..ActReport::new(Act::Check, jiff::Timestamp::UNIX_EPOCH, Vec::new())
    };
    report.add(failed);
    report.error = Some(Value::from("why"));
    report
}

fn checked() -> Checked {
    Checked {
        path: "/c".into(),
        profiles: vec![CheckedProfile { name: "home".into(), acts: vec![Act::Backup] }],
        missing: Vec::new(),
    }
}

#[test]
fn a_profile_is_told_in_a_line() {
    let told = |report: &ProfileReport| report.told();
    assert_eq!(told(&profile_report()), "profile home: check failed after backup (exit code 4)");
    let mut done = ProfileReport::new("home", false);
    done.add(ActReport::new(Act::Backup, jiff::Timestamp::UNIX_EPOCH, Vec::new()));
    assert_eq!(told(&done), "profile home: backup done in 0.0 s");
    done.exit = Exit::Partial;
    assert!(told(&done).ends_with("some entries could not be read"));
    let mut busy = ProfileReport::new("home", false);
    busy.fail(Exit::Busy, Failure::Busy { profile: "home".into() }.value());
    assert!(told(&busy).starts_with("profile home: failed (exit code 11): profile \"home\" is being run already"));
}
