//! What is written for systemd and cron.

use std::process::Command;
use std::time::Duration;

use super::*;
use crate::args::values::Span;

fn job(at: &str) -> Job {
    Job {
        profile: "home".into(),
        schedule: Schedule { at: at.into(), jitter: Span(Duration::from_secs(3_600)), cron: None },
        program: "/bin/sh".into(),
        config: "/etc/a 50% $HOME \"b\"/copal.toml".into(),
        variables: vec![("HOME".into(), "/root".into())],
        own: ["/var/lib/copal".into(), "/var/cache/copal".into()],
        written: vec!["/mnt/my backup".into()],
        repositories: vec!["/mnt/my backup".into()],
        is_unconfined: false,
        is_system: true,
    }
}

/// What `systemd-analyze verify` says about the units. It reads them and starts nothing.
fn verified(job: &Job) -> String {
    let place = tempfile::tempdir().unwrap();
    let at = |kind: &str| place.path().join(format!("{}.{kind}", units::unit(&job.profile)));
    std::fs::write(at("service"), units::service(job).unwrap()).unwrap();
    std::fs::write(at("timer"), units::timer(job)).unwrap();
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", if job.is_system { "--system" } else { "--user" }]).args([at("service"), at("timer")]);
    let said =
        command.env("XDG_RUNTIME_DIR", place.path()).output().expect("cargo xtask tools installs systemd-analyze");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}{}", said.status, text(&said.stdout), text(&said.stderr))
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    for at in ["daily", "03:30", "Mon..Fri *-*-* 22:00"] {
        for (is_system, is_unconfined) in [(true, false), (true, true), (false, false)] {
            let said = verified(&Job { is_system, is_unconfined, ..job(at) });
            assert!(said.starts_with("exit status: 0\n") && !said.contains("copal"), "{at} {said}");
        }
    }
    let broken = verified(&job("every day"));
    assert!(broken.contains("copal-home.timer"), "verify notices what is wrong: {broken}");
}

#[test]
fn a_unit_quotes_what_systemd_would_read_otherwise() {
    let service = units::service(&job("daily")).unwrap();
    let start =
        "ExecStart=\"/bin/sh\" \"--quiet\" \"run\" \"--config\" \"/etc/a 50%% $$HOME \\\"b\\\"/copal.toml\" \"home\"\n";
    assert!(service.contains(start) && service.contains("ReadWritePaths=-\"/mnt/my backup\"\n"), "{service}");
    let broken = Job { config: "/etc/a\nExecStart=/bin/x".into(), ..job("daily") };
    assert!(matches!(units::service(&broken), Err(BadJob::Sign(_))));
    assert!(matches!(cron::line(&broken), Err(BadJob::Sign(_))));
}

#[test]
fn a_units_sandbox_is_for_profiles_that_start_nothing_else() {
    let service = |is_unconfined, is_system| units::service(&Job { is_unconfined, is_system, ..job("daily") }).unwrap();
    assert!(service(false, true).contains("ProtectSystem=strict"));
    assert!(!service(true, true).contains("ProtectSystem") && service(true, true).contains("Nice=10"));
    let user = service(false, false);
    assert!(!user.contains("Protect") && user.contains("NoNewPrivileges=yes"), "{user}");
}

#[test]
fn a_confined_unit_hides_nothing_that_a_backup_would_save() {
    let service = units::service(&job("daily")).unwrap();
    for hides in ["ProtectKernelModules", "ProtectKernelLogs", "ProtectHome=yes", "Private", "Inaccessible"] {
        assert!(!service.contains(hides), "{hides}");
    }
    // No module is loaded all the same.
    assert!(service.contains("\nCapabilityBoundingSet=~CAP_SYS_MODULE "), "{service}");
    assert!(service.contains("\nSystemCallFilter=@system-service\n"), "{service}");
}

#[test]
fn a_unit_waits_for_the_disks_of_repositories_and_starts_without_them_too() {
    let of = |path: &str| units::service(&Job { repositories: vec![path.into()], ..job("daily") }).unwrap();
    let mounts = "mnt-my\\x20backup.mount mnt.mount";
    let service = of("/mnt/my backup");
    assert!(service.contains(&format!("\nWants={mounts}\nAfter={mounts}\n")), "{service}");
    assert!(!service.contains("RequiresMountsFor") && !service.contains("\nRequires="), "{service}");
    assert!(of("/.x/\u{e9}-a:b_c.d/").contains("=\\x2ex-\\xc3\\xa9\\x2da:b_c.d.mount \\x2ex.mount\n"));
}

#[test]
fn a_timer_is_persistent_and_has_jitter() {
    let timer = units::timer(&job("03:30"));
    assert!(timer.contains("OnCalendar=03:30\nRandomizedDelaySec=3600s\nPersistent=true\n"), "{timer}");
}

#[test]
fn cron_gets_a_line_that_sh_reads_as_it_was_meant() {
    let line = cron::line(&job("03:30")).unwrap();
    let begin = "30 3 * * * root HOME=/root nice -n 10 /bin/sh --quiet run --config '/etc/a 50\\% $HOME \"b\"/copal.toml' home # copal-home";
    assert_eq!(line, begin);
    for (at, end) in [("hourly", "* * * *"), ("daily", "0 * * *"), ("weekly", "0 * * 1"), ("monthly", "0 1 * *")] {
        let line = cron::line(&job(at)).unwrap();
        let (minute, rest) = line.split_once(' ').unwrap();
        assert!(minute.parse::<u8>().unwrap() < 60 && rest.starts_with(&format!("{end} root ")), "{line}");
    }
    assert!(matches!(cron::line(&job("Mon..Fri 22:00")), Err(BadJob::Calendar { .. })));
    let given = Schedule { cron: Some("1 2 * * 1-5".into()), ..job("Mon..Fri 22:00").schedule };
    assert!(cron::line(&Job { schedule: given, ..job("") }).unwrap().starts_with("1 2 * * 1-5 root"));
}

#[test]
fn the_units_in_packages_say_what_an_installed_one_would() {
    let of_package = Job {
        profile: "INSTANCE".into(),
        program: "/usr/bin/copal".into(),
        config: "/etc/copal/copal.toml".into(),
        repositories: Vec::new(),
        is_unconfined: true,
        ..job("daily")
    };
    let without_comments = |text: &str| -> String {
        let said = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n"));
        said.collect::<String>().replace("INSTANCE", "%i")
    };
    let service = include_str!("../../../packaging/systemd/copal@.service");
    assert_eq!(without_comments(service), without_comments(&units::service(&of_package).unwrap()));
    let timer = include_str!("../../../packaging/systemd/copal@.timer");
    assert_eq!(without_comments(timer), without_comments(&units::timer(&of_package)));
}
