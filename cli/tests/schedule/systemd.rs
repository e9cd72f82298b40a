//! A systemd of its own, in namespaces of its own, that starts a profile by its timer in the sandbox of its unit.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::kit::{Machine, Ran, Run};

/// A systemd that runs until it is dropped.
struct Systemd {
    unshare: Child,
    pid: String,
}

impl Systemd {
    /// Boots it; none where that is not possible.
    fn boot(machine: &Machine) -> Option<Self> {
        let manager = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"].map(PathBuf::from).into_iter().find(|path| path.exists())?;
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        fs::write(machine.path("boot"), BOOT.replace("MANAGER", &manager.display().to_string())).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--cgroup", "--uts", "--ipc", "--propagation", "private"]);
        command.args(["--fork", "--kill-child", "sh"]).arg(machine.path("boot"));
        let unshare = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let id = unshare.id();
        let mut systemd = Self { unshare, pid: String::new() };
        let until = Instant::now() + Duration::from_secs(30);
        while Instant::now() < until && systemd.unshare.try_wait().unwrap().is_none() {
            let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
            systemd.pid = children.trim().to_owned();
            if !systemd.pid.is_empty() && systemd.inside(Command::new("systemctl").arg("is-system-running")).text().starts_with("running") {
                return Some(systemd);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    }

    /// Runs a command where it runs.
    fn inside(&self, command: &Command) -> Ran {
        let mut entered = Command::new("nsenter");
        entered.args(["-t", &self.pid, "--mount", "--pid", "--cgroup", "--"]).arg(command.get_program()).args(command.get_args());
        if let Some(directory) = command.get_current_dir() {
            entered.current_dir(directory).env_clear();
        }
        entered.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        entered.ran()
    }
}

impl Drop for Systemd {
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

/// Nothing of the machine's own is mounted over or written: all of it is in a mount namespace.
const BOOT: &str = "\
set -e
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir -p /run/lock
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /etc/systemd/system
touch /run/console
mount --bind /run/console /dev/console
mkdir /etc/systemd/system/copal-home.timer.d
printf '[Unit]\\nDescription=test\\n' > /etc/systemd/system/test.target
printf '[Timer]\\nAccuracySec=100ms\\n' > /etc/systemd/system/copal-home.timer.d/now.conf
container=test exec MANAGER --system --unit=test.target --log-target=console --show-status=no
";

#[test]
fn systemd_runs_a_profile_by_its_timer_in_the_sandbox_of_its_unit() {
    let machine = Machine::new();
    machine.write("letter", "1");
    let here = machine.path("").display().to_string();
    let profile = "[profiles.home]\nrepository = \"HERErepository\"\nkey-file = \"HEREkey\"\n[profiles.home.backup]\npaths = [\"HEREsource\"]\n\
                   [profiles.home.check]\n[profiles.home.schedule]\nat = \"*:*:*\"\njitter = \"0s\"\n";
    fs::write(machine.path("copal.toml"), profile.replace("HERE", &here)).unwrap();
    let schedule = |words: &[&str]| {
        let mut command = machine.command(&[&["schedule"], words, &["--by", "systemd", "--config", "copal.toml"]].concat());
        command.env("TMPDIR", machine.path("home"));
        command
    };
    schedule(&["install", "--to", "units"]).ran().ok();
    let Some(systemd) = Systemd::boot(&machine) else {
        // By hand: what the unit starts, with the variables that it sets.
        let unit = fs::read_to_string(machine.path("units/copal-home.service")).unwrap();
        let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let set = unit.lines().filter_map(|line| line.strip_prefix("Environment=")).collect::<Vec<_>>().join(" ");
        Command::new("sh").args(["-c", &format!("env -i {set} {line}")]).current_dir("/").ran().ok();
        assert_eq!(machine.snapshots().len(), 1);
        return;
    };
    systemd.inside(&schedule(&["install"])).ok();
    let until = Instant::now() + Duration::from_secs(60);
    let shown = |what: &str| {
        let mut command = Command::new("systemctl");
        systemd.inside(command.args(["show", "--value", "-p", what, "copal-home.service"])).text().trim().to_owned()
    };
    while machine.snapshots().is_empty() || shown("ActiveState") != "inactive" {
        let console = || systemd.inside(Command::new("cat").arg("/run/console")).text();
        assert!(shown("Result") == "success" && Instant::now() < until, "{} {}", shown("Result"), console());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((shown("Result"), shown("ExecMainStatus")), ("success".into(), "0".into()));
    assert_eq!(shown("ProtectSystem"), "strict");
    let listed = systemd.inside(&schedule(&["list", "--json"])).ok().json();
    assert_eq!((&listed[0]["installed"], &listed[0]["current"]), (&true.into(), &true.into()));
    systemd.inside(&schedule(&["remove"])).ok();
    assert_eq!(systemd.inside(Command::new("systemctl").args(["is-enabled", "copal-home.timer"])).code, 1);
}
