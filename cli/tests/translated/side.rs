//! A machine on which one program is used, line by line.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use tempfile::TempDir;

use super::page::Page;
use crate::kit::{Run, set_xattr, texts};

/// A machine with the folders that the pages speak of, below a folder of the test's.
pub(crate) struct Side {
    directory: TempDir,
    program: &'static str,
    /// The lines that set variables, which hold for all that follow.
    variables: Vec<String>,
}

impl Side {
    pub(crate) fn new(program: &'static str) -> Self {
        let side = Self { directory: tempfile::tempdir().unwrap(), program, variables: Vec::new() };
        for folder in ["home/ada/Documents/old", "mnt/disk", "mnt/second", "mnt/look", "root", "tmp", "etc", "srv"] {
            fs::create_dir_all(side.path(folder)).unwrap();
        }
        let list = format!("{}\n", side.path("home/ada").display());
        for (name, content) in [
            ("home/ada/letter.txt", LETTER),
            ("home/ada/secret.txt", "a secret"),
            ("home/ada/main.o", "an object"),
            ("home/ada/Documents/old/report", "what happened"),
            ("srv/shop.sql", "create table shop"),
            ("etc/paths", &list),
            ("etc/excludes", "# nothing of use\n*.tmp\n"),
            ("etc/policy.toml", "keep-daily = 7\n"),
            ("etc/backup.pass", "first\n"),
            ("etc/second.pass", "second\n"),
            ("etc/third.pass", "third\n"),
        ] {
            fs::write(side.path(name), content).unwrap();
        }
        symlink("letter.txt", side.path("home/ada/link")).unwrap();
        fs::set_permissions(side.path("home/ada/secret.txt"), fs::Permissions::from_mode(0o600)).unwrap();
        set_xattr(&side.path("home/ada/letter.txt"), "user.mood", b"good");
        // Borg writes whole seconds into an archive.
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for name in ["Documents/old/report", "Documents/old", "Documents"] {
            File::open(side.path("home/ada").join(name)).unwrap().set_modified(then).unwrap();
        }
        side
    }

    /// Runs this program's column of a page.
    pub(crate) fn follow(&mut self, page: &Page) {
        let told = if self.program == "restic" { self.ok("restic version") } else { Vec::new() };
        let found = version(&String::from_utf8_lossy(&told));
        for row in &page.rows {
            if row.since.is_some_and(|since| found.is_some_and(|found| found < since)) {
                continue;
            }
            let lines = if self.program == "copal" { &row.ours } else { &row.theirs };
            lines.iter().for_each(|line| self.take(line));
        }
    }

    fn take(&mut self, line: &str) {
        if line.starts_with("export ") {
            self.variables.push(line.to_owned());
        } else if line.contains(" mount ") {
            // Debian's Borg mounts only with a package that it recommends.
            if self.program != "borg" {
                self.mounts(line);
            }
        } else {
            let written = self.ok(line);
            if line.contains("letter.txt") && (line.contains(" dump ") || line.contains(" --stdout ")) {
                assert_eq!(String::from_utf8_lossy(&written), LETTER, "{line}");
            }
        }
    }

    /// Runs a line, which must succeed; gives what it wrote.
    pub(crate) fn ok(&self, line: &str) -> Vec<u8> {
        let ran = self.shell(&self.with_ids(line)).ran();
        assert_eq!(ran.code, 0, "{line}: {ran}");
        ran.out
    }

    /// Shows snapshots as folders until the newest can be seen there.
    fn mounts(&self, line: &str) {
        let mut child = self.shell(&format!("exec {line}")).stdout(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.path("mnt/look/snapshots/latest").exists() {
            assert!(child.try_wait().unwrap().is_none() && Instant::now() < deadline, "{line}");
            std::thread::sleep(Duration::from_millis(50));
        }
        // At another signal restic leaves its lock and its mount behind.
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let status = child.wait().unwrap();
        assert!(self.program != "copal" || status.success(), "{line}: {status}");
    }

    /// Sets the variables of another machine's program, too.
    pub(crate) fn take_variables(&mut self, other: &Side) {
        self.variables.extend(other.variables.iter().cloned());
    }

    /// A path on this machine, without links.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// Where a restore of all that was saved into this folder puts `/home/ada`.
    pub(crate) fn restored(&self, target: &str) -> PathBuf {
        self.path(target).join(self.path("home/ada").strip_prefix("/").unwrap())
    }

    /// A line with the ids of the first snapshots here instead of the page's.
    fn with_ids(&self, line: &str) -> String {
        if !IDS.iter().any(|id| line.contains(id)) {
            return line.to_owned();
        }
        let listed: Value = serde_json::from_slice(&self.ok(&format!("{} snapshots --json", self.program))).unwrap();
        let found = texts(&listed, "id");
        IDS.iter().zip(found).fold(line.to_owned(), |line, (id, found)| line.replace(id, &found[..8]))
    }

    /// A command of the shell, with the folders of this machine.
    fn shell(&self, line: &str) -> Command {
        let lines = self.variables.iter().map(String::as_str).chain([line]);
        let script: Vec<_> = lines.map(|line| self.here(line)).collect();
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", &script.join("\n")]);
        shell.current_dir(self.directory.path()).env_clear().stdin(Stdio::null());
        let programs = Path::new(env!("CARGO_BIN_EXE_copal")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{}:{path}", programs.display())).env("TZ", "UTC");
        shell.env("HOME", self.path("root")).env("TMPDIR", self.path("tmp"));
        shell
    }

    fn here(&self, line: &str) -> String {
        line.split(' ').map(|word| self.word_here(word)).collect::<Vec<_>>().join(" ")
    }

    /// `/home/ada`, `NAME=/home/ada`, `latest:/home/ada`; or `home/ada`, as Borg writes it.
    fn word_here(&self, word: &str) -> String {
        let place = self.path("");
        let place = place.to_str().unwrap();
        if word.contains(place) {
            return word.to_owned();
        }
        if word.starts_with("home/") {
            return format!("{}{word}", &place[1..]);
        }
        let is_folder = |path: &str| {
            let top = path.split('/').next().unwrap_or_default().trim_end_matches('\'');
            ["etc", "home", "mnt", "root", "srv", "tmp"].contains(&top)
        };
        let mut starts = word.match_indices('/').map(|(at, _)| at);
        match starts.find(|at| (*at == 0 || word[..*at].ends_with(['=', ':', '\''])) && is_folder(&word[at + 1..])) {
            Some(at) => format!("{}{place}{}", &word[..at], &word[at + 1..]),
            None => word.to_owned(),
        }
    }
}

/// The first two numbers of a version.
pub(crate) fn version(text: &str) -> Option<(u32, u32)> {
    let word = text.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    let mut numbers = word.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// What a page calls the first two snapshots.
const IDS: [&str; 2] = ["4f2a", "9c1d"];

const LETTER: &str = "Dear reader,\nall is well.\n";
