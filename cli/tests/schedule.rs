//! `schedule`: profiles that the system runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::kit::{COPAL, Machine, Ran, Run, texts};

const PROFILES: &str = "\
[profiles.home]
repository = \"/mnt/backup\"
key-file = \"/etc/copal/key\"
[profiles.home.backup]
paths = [\"/home\"]
[profiles.home.schedule]
at = \"03:30\"
[profiles.odd.check]
[profiles.odd.schedule]
at = \"Mon..Fri 22:00\"
[profiles.idle.check]
";

/// A user who is not root, whose `systemctl` and `crontab` only note what they are asked.
struct User {
    place: TempDir,
}

impl User {
    fn new() -> Self {
        let user = Self { place: tempfile::tempdir().unwrap() };
        for directory in ["bin", "home/.config/copal", "home/units"] {
            fs::create_dir_all(user.path(directory)).unwrap();
        }
        // Others may not be able to read where programs are built.
        // Copied by another process: a child of another test could hold the file open for writing.
        Command::new("cp").arg(COPAL).arg(user.path("copal")).ran().ok();
        let home = user.path("home").display().to_string();
        user.tool("systemctl", &format!("echo \"$@\" >> {home}/calls\n"));
        user.tool("systemd-analyze", "case \"$2\" in *Mars*) exit 1;; esac\n");
        let table = format!("{home}/table");
        user.tool(
            "crontab",
            &format!("case $1 in -l) cat {table};; *) cat > {table}.new; mv {table}.new {table};; esac\n"),
        );
        user.configure(PROFILES);
        for path in ["", "home", "home/units", "home/.config", "home/.config/copal", "home/.config/copal/copal.toml"] {
            fs::set_permissions(user.path(path), fs::Permissions::from_mode(0o755)).unwrap();
            if rustix::process::geteuid().is_root() {
                chown(user.path(path), Some(NOBODY), None).unwrap();
            }
        }
        user
    }

    fn configure(&self, text: &str) {
        fs::write(self.path("home/.config/copal/copal.toml"), text).unwrap();
    }

    fn tool(&self, name: &str, script: &str) {
        fs::write(self.path("bin").join(name), format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(self.path("bin").join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().canonicalize().unwrap().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(":/usr/bin:/bin", arguments)
    }

    /// Runs `schedule` with these directories of programs behind the user's own.
    fn run_with(&self, programs: &str, arguments: &[&str]) -> Ran {
        let mut command = Command::new(self.path("copal"));
        command.arg("schedule").args(arguments).env_clear().env("HOME", self.path("home"));
        command.env("PATH", format!("{}{programs}", self.path("bin").display())).current_dir("/");
        // A timer will not have these variables of the shell.
        command.env("COPAL_REPOSITORY", "azblob://of/shell").env("COPAL_PASSWORD", "of a shell");
        command.env("AWS_PROFILE", "of a shell");
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY);
        }
        command.ran()
    }
}

const NOBODY: u32 = 65_534;

#[test]
fn a_user_installs_lists_and_removes_timers() {
    let user = User::new();
    let installed = user.run(&["install", "--by", "systemd"]).ok();
    assert_eq!(texts(&user.run(&["list", "--by", "systemd", "--json"]).ok().json(), "profile"), ["home", "odd"]);
    // Of home the file says all that a run needs; of odd only this shell's variables would.
    assert!(!installed.err.contains("profile home") && installed.err.contains("profile odd names no key-file"));
    assert!(!installed.err.contains("EnvironmentFile"), "{}", installed.err);
    assert!(user.path("home/.local/state/copal").is_dir(), "in its sandbox the unit cannot make it");
    let calls = "--user daemon-reload\n--user enable copal-home.timer\n--user restart copal-home.timer\n\
                 --user enable copal-odd.timer\n--user restart copal-odd.timer\n";
    assert_eq!(user.read("home/calls"), calls);
    let service = user.read("home/.config/systemd/user/copal-home.service");
    let here = user.path("").display().to_string();
    let start = format!(
        "ExecStart=\"{here}copal\" \"--quiet\" \"run\" \"--config\" \"{here}home/.config/copal/copal.toml\" \"home\"\n"
    );
    assert!(service.contains(&start) && service.contains(&format!("Environment=\"HOME={here}home\"\n")), "{service}");
    let odd = "[profiles.odd.schedule]\nat = \"Mon..Fri 22:00\"\n";
    user.configure(&PROFILES.replace("03:30", "04:30").replace(odd, ""));
    let rows = user.run(&["list", "--by", "systemd", "--json"]).ok().json();
    let states: Vec<_> = rows.as_array().unwrap().iter().map(|row| (&row["installed"], &row["current"])).collect();
    assert_eq!(states, [(&true.into(), &false.into()); 2], "one has changed, one is not wanted any more");
    user.run(&["remove", "home", "--by", "systemd"]).ok();
    assert!(!user.path("home/.config/systemd/user/copal-home.timer").exists());
    assert!(user.read("home/calls").ends_with("--user disable --now copal-home.timer\n--user daemon-reload\n"));
    assert_eq!(user.run(&["remove", "home", "--by", "systemd", "--json"]).exits(2).kind(), "usage");
    assert!(user.run(&["list", "--by", "systemd"]).ok().text().contains("not installed"));
}

#[test]
fn a_timer_without_its_credentials_is_told_of() {
    let user = User::new();
    user.configure(&PROFILES.replace("/mnt/backup", "azblob://container/prefix"));
    assert!(user.run(&["install", "--by", "systemd"]).ok().err.contains("profile home: the credentials"));
    user.configure(&PROFILES.replace("/mnt/backup", "s3://bucket/prefix"));
    assert!(user.run(&["install", "--by", "systemd"]).ok().err.contains("profile home: this shell has AWS_PROFILE,"));
}

#[test]
fn a_calendar_that_systemd_does_not_know_installs_nothing() {
    let user = User::new();
    user.configure(&PROFILES.replace("Mon..Fri 22:00", "Mon..Fri 22:00 Mars/Olympus"));
    assert!(user.run(&["install", "--by", "systemd"]).exits(1).err.contains("calendar Mon..Fri 22:00 Mars"));
    assert!(!user.path("home/.config/systemd").exists());
}

#[test]
fn what_cannot_be_started_is_not_installed_and_what_ran_before_stays() {
    let user = User::new();
    user.run(&["install", "home", "--by", "systemd"]).ok();
    user.tool("systemctl", "exit 1\n");
    user.run(&["install", "--by", "systemd"]).exits(1);
    let rows = user.run(&["list", "--by", "systemd", "--json"]).ok().json();
    let states: Vec<_> = rows.as_array().unwrap().iter().map(|row| (&row["profile"], &row["installed"])).collect();
    assert_eq!(states, [(&"home".into(), &true.into()), (&"odd".into(), &false.into())]);
    fs::remove_file(user.path("bin/crontab")).unwrap();
    let ran = user.run_with("", &["install", "home", "--by", "cron"]);
    assert!(ran.code == 2 && ran.err.contains("there is no program crontab here"), "{ran}");
}

#[test]
fn a_unit_of_somebody_else_is_neither_replaced_nor_removed() {
    let user = User::new();
    let units = user.path("home/.config/systemd/user");
    fs::create_dir_all(&units).unwrap();
    fs::write(units.join("copal-home.service"), "[Service]\n").unwrap();
    assert!(user.run(&["install", "home", "--by", "systemd"]).exits(2).err.contains("was not written by copal"));
    user.run(&["remove", "--by", "systemd"]).ok();
    assert_eq!(fs::read_to_string(units.join("copal-home.service")).unwrap(), "[Service]\n");
}

#[test]
fn cron_runs_profiles_where_there_is_no_systemd() {
    let user = User::new();
    fs::write(user.path("home/table"), "0 5 * * * mine\n").unwrap();
    assert!(user.run(&["install", "--by", "cron"]).exits(2).err.contains("needs the key \"cron\""));
    let tables = user.path("home/tables").display().to_string();
    user.run(&["install", "--by", "cron", "--to", &tables]).exits(2);
    assert!(!user.path("home/tables/copal-home").exists(), "all profiles or none");
    user.run(&["install", "home", "--by", "cron"]).ok();
    user.run(&["install", "home", "--by", "cron"]).ok();
    let table = user.read("home/table");
    assert!(table.starts_with("0 5 * * * mine\n30 3 * * * HOME=") && table.lines().count() == 2, "{table}");
    assert!(table.ends_with(" home # copal-home\n"), "{table}");
    let rows = user.run(&["list", "--by", "cron", "--json"]).ok().json();
    assert_eq!((&rows[0]["current"], &rows[1]["installed"]), (&true.into(), &false.into()));
    user.run(&["remove", "--by", "cron"]).ok();
    assert_eq!(user.read("home/table"), "0 5 * * * mine\n");
}

#[test]
fn units_can_be_written_for_a_look() {
    let user = User::new();
    let units = user.path("home/units").display().to_string();
    user.run(&["install", "home", "--by", "systemd", "--to", &units]).ok();
    assert!(user.read("home/units/copal-home.timer").contains("OnCalendar=03:30\n"));
    assert!(!user.path("home/calls").exists());
    let mode = fs::metadata(user.path("home/units/copal-home.service")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn what_a_unit_and_a_crontab_start_runs_the_profile() {
    let machine = Machine::with([("letter", "1")]);
    let here = machine.path("").display().to_string();
    let profile = "[profiles.home]\nrepository = \"HERErepository\"\nkey-file = \"HEREkey\"\n\
                   [profiles.home.backup]\npaths = [\"HEREsource\"]\n[profiles.home.schedule]\n";
    fs::write(machine.path("copal.toml"), profile.replace("HERE", &here)).unwrap();
    fs::set_permissions(machine.path("copal.toml"), fs::Permissions::from_mode(0o644)).unwrap();
    for (by, file) in [("systemd", "copal-home.service"), ("cron", "copal-home")] {
        let words = ["schedule", "install", "--to", "units", "--by", by, "--config", "copal.toml"];
        machine.command(&words).ran().ok();
        let text = fs::read_to_string(machine.path("units").join(file)).unwrap();
        if by == "systemd" {
            let units = ["service", "timer"].map(|kind| machine.path("units").join(format!("copal-home.{kind}")));
            let told = Command::new("systemd-analyze").arg("verify").args(units).output().unwrap();
            let about: Vec<_> = String::from_utf8_lossy(&told.stderr).lines().map(str::to_owned).collect();
            let about: Vec<_> = about.into_iter().filter(|line| line.contains("copal-home")).collect();
            assert!(about.is_empty(), "{about:?}");
        }
        // By hand, as systemd and cron do: with the variables that are named, and nothing else of this process.
        let line = match by {
            "systemd" => {
                let of =
                    |name: &str| text.lines().filter_map(|line| line.strip_prefix(name)).collect::<Vec<_>>().join(" ");
                format!("env -i {} {}", of("Environment="), of("ExecStart="))
            }
            _ => {
                let command = text.lines().last().unwrap().splitn(6, ' ').last().unwrap();
                format!("env -i {}", command.trim_start_matches("root ").replace("\\%", "%"))
            }
        };
        Command::new("sh").args(["-c", &line]).current_dir("/").ran().ok();
    }
    assert_eq!(machine.snapshots_that(&["--latest", "5"]).len(), 2);
    assert_eq!(machine.records(), 1, "the client is the one of runs by hand");
}

#[test]
fn a_run_tells_its_supervisor_how_far_it_is() {
    let machine = Machine::new();
    fs::write(machine.path("run.toml"), "[profiles.a.check]\n").unwrap();
    fs::set_permissions(machine.path("run.toml"), fs::Permissions::from_mode(0o644)).unwrap();
    let socket = UnixDatagram::bind(machine.path("socket")).unwrap();
    machine.with_key(&["run", "--config", "run.toml"]).env("NOTIFY_SOCKET", machine.path("socket")).ran().ok();
    socket.set_nonblocking(true).unwrap();
    let mut heard = Vec::new();
    let mut bytes = [0; 200];
    while let Ok(length) = socket.recv(&mut bytes) {
        heard.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
    }
    assert_eq!(heard, ["READY=1", "STATUS=check of profile a", "STOPPING=1"]);
}
