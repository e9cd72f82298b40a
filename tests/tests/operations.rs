//! Operations: every command that the operator's pages show is run, line by line and in the pages' order, with the addresses
//! and folders of this machine; but what is marked *needs AWS*.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use copal_gateway::router::read_facts;
use copal_tests::kit::lambda::{Cloud, Deployment};
use copal_tests::kit::process::program;
use copal_tests::kit::s3::{Kind, Server};
use futures::executor::block_on;
use tempfile::TempDir;

use crate::read;

/// What no test can run in the page's order and stands for itself elsewhere: a line's beginning, and the file with what runs it.
const ELSEWHERE: [(&str, &str, &str); 3] = [
    ("cargo xtask lambda", "xtask/src/suite.rs", "lambda::check"),
    ("copal mount", "cli/tests/mount/mod.rs", "fn a_mount_shows_what_a_restore_brings_back"),
    ("copal schedule install", "cli/tests/schedule.rs", "fn a_user_installs_lists_and_removes_timers"),
];

/// Sections whose commands name no repository, and which one the reader has in mind.
const IN_MIND: [(&str, &str); 3] = [
    ("Back up every night", "/mnt/backup"),
    ("Add machines that can only save", "https://backup.example"),
    ("Forget snapshots and free space", "/mnt/backup"),
];

/// Sections that are about another machine than the ones before.
const ELSEWHERE_AT_HOME: [&str; 2] = ["Rehearse a restore over ssh", "Rehearse a restore from AWS"];

#[test]
fn every_command_of_the_operators_pages_does_what_it_is_shown_for() {
    let mut site = Site::new();
    let mut run = Vec::new();
    for Line { section, text, unit } in lines() {
        let (command, remark) = text.split_once(" # ").unwrap_or((&text, ""));
        let command = command.trim();
        if remark.trim_start().starts_with("needs AWS") {
            site.applied(command);
            continue;
        }
        if let Some((_, file, needle)) = ELSEWHERE.iter().find(|(start, ..)| command.starts_with(start)) {
            assert!(read(file).contains(needle), "{file}: {needle}");
            continue;
        }
        if let Some(repository) = command.strip_prefix("export COPAL_REPOSITORY=") {
            site.exported = Some(repository.to_owned());
            continue;
        }
        let is_known = command.contains("copal ") || ["diff ", "mkdir "].iter().any(|start| command.starts_with(start));
        assert!(is_known, "nobody runs {text:?}");
        site.run(&section, command, unit.as_deref());
        run.push(command.to_owned());
    }
    assert!(run.len() > 50, "{run:#?}");
    for part in [
        "serve --listen",
        "client revoke",
        "ssh://backup.example/srv/team restore latest",
        "restore latest",
        "check --full",
        "policy set",
        "--prune",
    ] {
        assert!(run.iter().any(|command| command.contains(part)), "{part}");
    }
}

#[test]
fn every_command_that_the_pages_speak_of_exists() {
    let page = pages();
    // What stands for a snapshot or a number is none.
    let spans = page.split('`').skip(1).step_by(2).filter_map(|span| span.strip_prefix("copal "));
    let mut asked = 0;
    for span in spans.filter(|span| !span.contains('\n')) {
        asked += 1;
        let words = span.replace(" …", "").replace("--last-good N", "--last-good 1");
        let words = words.replace("BEFORE", "latest").replace("SNAPSHOT", "latest");
        let mut copal = Command::new(program("copal"));
        copal.args(words.split_whitespace()).arg("--help").env_clear().env("COPAL_PASSWORD", "none");
        let told = copal.output().expect("it runs");
        assert!(told.status.success(), "copal {span}: {}", String::from_utf8_lossy(&told.stderr));
    }
    assert!(asked > 20, "{asked}");
}

/// `docs/operations.md`, the two pages that go on where it ends, and the two for beginners.
fn pages() -> String {
    ["operations", "aws", "recovery", "first-backup", "everyday"].map(|name| read(format!("docs/{name}.md"))).concat()
}

/// A command line of the pages.
struct Line {
    /// The heading above it.
    section: String,
    text: String,
    /// The variables that the unit of systemd sets which starts it; it has no others, and no home.
    unit: Option<Vec<String>>,
}

/// The lines of all blocks of shell, those of cron without their times, and what systemd starts.
fn lines() -> Vec<Line> {
    let (mut found, mut section, mut kind, mut unit) = (Vec::new(), String::new(), None, Vec::new());
    for text in pages().replace("\\\n", "").lines() {
        match (&kind, text.strip_prefix("```")) {
            (None, Some(named)) => (kind, unit) = (Some(named.to_owned()), Vec::new()),
            (Some(_), Some(_)) => kind = None,
            (None, None) => {
                if let Some(title) = text.strip_prefix('#') {
                    section = title.trim_start_matches('#').trim().to_owned();
                }
            }
            (Some(kind), None) => {
                let cron = text.split_once(" root ").filter(|_| kind.is_empty()).map(|(_, command)| command);
                let systemd = text.strip_prefix("ExecStart=").filter(|_| kind == "ini");
                let variables = text.strip_prefix("Environment=").into_iter().flat_map(|set| set.split(' '));
                unit.extend(variables.map(str::to_owned));
                let shell = Some(text).filter(|_| kind == "sh" && !text.trim().is_empty() && !text.starts_with('#'));
                let line = cron.or(systemd).or(shell);
                let unit = systemd.map(|_| unit.clone());
                found.extend(line.map(|text| Line { section: section.clone(), text: text.to_owned(), unit }));
            }
        }
    }
    found
}

/// Everything that the page takes for granted, on this machine: folders, a server of S3, the functions behind it, machines.
struct Site {
    place: TempDir,
    server: Server,
    /// The page's buckets, and what they are called here.
    buckets: BTreeMap<&'static str, String>,
    cloud: Option<Cloud>,
    served: Option<Served>,
    /// The repository that the reader has exported.
    exported: Option<String>,
}

impl Site {
    fn new() -> Site {
        let (place, server) = (tempfile::tempdir().expect("a temporary directory"), Server::start(Kind::Versity));
        let buckets = ["example-copal", "bucket"].map(|name| (name, server.bucket())).into();
        let site = Site { place, server, buckets, cloud: None, served: None, exported: None };
        for folder in [
            "etc",
            "home",
            "srv/recordings",
            "mnt",
            "media/disk",
            "machines/desk/Documents",
            "usr/local/bin",
            "bin",
            "machines",
            "tmp",
            "var/cache/copal",
            "var/lib/copal",
        ] {
            fs::create_dir_all(site.path(folder)).expect("a folder");
        }
        for (file, content) in [
            ("etc/hosts", "localhost"),
            ("home/letter", "dear all"),
            ("srv/recordings/1", "a film"),
            ("machines/desk/Documents/letter.txt", "dear ada"),
        ] {
            fs::write(site.path(file), content.repeat(1000)).expect("a file");
        }
        for name in ["usr/local/bin/copal", "bin/copal"] {
            symlink(program("copal"), site.path(name)).expect("a link");
        }
        // Another machine is another home, without passphrase and repository.
        let ssh = "#!/bin/sh\nexport HOME=\"$MACHINES/$1\" HOSTNAME=\"$1\"\nunset COPAL_REPOSITORY COPAL_PASSWORD COPAL_HOST\n\
                   mkdir -p \"$HOME\"\nshift\nexec sh -c \"$*\"\n";
        fs::write(site.path("bin/ssh"), ssh).expect("a file");
        fs::set_permissions(site.path("bin/ssh"), fs::Permissions::from_mode(0o755)).expect("a program");
        fs::write(site.path("policy.toml"), "keep-last = 3\ntimezone = \"\"\n").expect("a file");
        let certificate =
            "req -x509 -newkey ed25519 -nodes -days 2 -subj /CN=backup.example -keyout key.pem -out cert.pem";
        let mut openssl = Command::new("openssl");
        openssl.args(certificate.split(' ')).current_dir(site.place.path()).stderr(Stdio::null());
        assert!(openssl.status().expect("openssl is a program").success());
        site
    }

    /// What an operator of AWS has done by a command.
    fn applied(&mut self, command: &str) {
        let is_made = || block_on(read_facts(&self.server.store(&self.buckets["example-copal"], ""), None));
        if !command.starts_with("terraform apply") || self.cloud.is_some() {
            return;
        }
        // The first time nothing is there: then the functions have nobody to believe.
        let Ok(Some(facts)) = is_made() else { return };
        let bucket = &self.buckets["example-copal"];
        let mut variables: Vec<(String, String)> =
            self.server.environment().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        variables.push(("COPAL_OWNER_FINGERPRINT".to_owned(), facts.owner.to_string()));
        variables.push(("COPAL_OPEN_SLOTS".to_owned(), "true".to_owned()));
        let deployment = Deployment::new(bucket, "", variables);
        self.cloud = Some(Cloud::start(&deployment, Arc::new(self.server.store(bucket, ""))));
    }

    /// Runs a command as a reader in this section would, or systemd for him.
    fn run(&mut self, section: &str, command: &str, unit: Option<&[String]>) {
        self.prepare(section, command);
        let in_mind = IN_MIND.iter().find(|(title, _)| *title == section).map(|(_, repository)| *repository);
        let home = if ELSEWHERE_AT_HOME.contains(&section) { "machines/another" } else { "machines/desk" };
        // What serves is asked to end itself, and not a shell before it.
        let exec = if command.contains(" serve ") { "exec " } else { "" };
        let mut shell = Command::new("bash");
        shell
            .args(["-euo", "pipefail", "-c", &format!("{exec}{}", self.here(command))])
            .current_dir(self.place.path())
            .env_clear();
        shell.envs(self.server.environment()).env("MACHINES", self.path("machines")).env("HOME", self.path(home));
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{}:{path}", self.path("bin").display()));
        shell.env("COPAL_HOST", "desk").stdin(Stdio::null());
        if let Some(unit) = unit {
            let set = unit.iter().map(|set| self.here(set));
            shell.env_remove("HOME").envs(set.filter_map(|set| set.split_once('=').map(owned)));
        } else {
            shell.env("COPAL_PASSWORD", "a passphrase");
            let named = in_mind.or(self.exported.as_deref());
            shell.envs(named.map(|repository| ("COPAL_REPOSITORY", self.here(repository))));
        }
        if command.contains(" serve ") {
            return drop(Served::start(shell, command));
        }
        let told = shell.output().expect("bash is a program");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(told.status.success(), "{section}: {command}: {}{}", text(&told.stdout), text(&told.stderr));
    }

    /// What the page says in words before it shows a command.
    fn prepare(&mut self, section: &str, command: &str) {
        if command.contains("key add --new-key-file /etc/copal.key") {
            // Instead of the line before it: the repository is there, the key file is not.
            fs::remove_file(self.path("etc/copal.key")).expect("the line before has made it");
        }
        if command == "copal config check" {
            let page = read("docs/everyday.md");
            let written = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
            let written = written.expect("the page shows a configuration");
            let file = self.path("machines/desk/.config/copal/copal.toml");
            fs::write(file, written.replace("\"/media", &format!("\"{}/media", self.place.path().display())))
                .expect("a file");
        }
        if section.starts_with("Add machines") && self.served.is_none() {
            let mut copal = Command::new(program("copal"));
            copal.env_clear().env("COPAL_PASSWORD", "a passphrase").env("HOME", self.path("machines/service"));
            copal.arg("-r").arg(self.path("srv/team")).args(["init", "--ingest", "service"]);
            assert!(copal.output().expect("it runs").status.success());
            let mut serve = Command::new(program("copal"));
            serve.env_clear().env("HOME", self.path("machines/service")).arg("-r").arg(self.path("srv/team"));
            serve.args(["serve", "--listen", "127.0.0.1:0", "--open-slots"]);
            self.served = Some(Served::start(serve, "serve"));
        }
    }

    /// A command with the addresses and folders of this machine instead of the page's.
    fn here(&self, command: &str) -> String {
        let (place, bucket) = (self.place.path().display(), |name: &str| format!("s3://{}", self.buckets[name]));
        let managed = self.served.as_ref().map_or_else(String::new, |served| served.url.clone());
        let substitutions = [
            // A snapshot's paths begin at the top of this machine.
            ("/tmp/drill/home", format!("/tmp/drill{place}/home")),
            ("ssh://backup.example/srv", format!("ssh://backup.example{place}/srv")),
            ("s3://bucket", bucket("bucket")),
            ("s3://example-copal", bucket("example-copal")),
            ("https://minio.example:9000", self.server.endpoint()),
            ("https://backup.example.org", self.cloud.as_ref().map_or_else(String::new, Cloud::gateway)),
            // Where the page lies is only told to a phone.
            ("--page https://backup.example", "--page https://page.example".to_owned()),
            ("https://backup.example", managed),
            ("0.0.0.0:8321", "127.0.0.1:0".to_owned()),
            ("127.0.0.1:9321", "127.0.0.1:0".to_owned()),
        ];
        let mut text = command.to_owned();
        for (shown, here) in substitutions {
            text = text.replace(shown, &here);
        }
        // Folders of the machine are below a folder of the test's.
        let words = text.split(' ').map(|word| match word.rsplit_once('=') {
            _ if word.starts_with('/') => format!("{place}{word}"),
            Some((name, value)) if value.starts_with('/') => format!("{name}={place}{value}"),
            _ => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }
}

/// A service that runs until it is dropped, and ends well when it is asked to.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    /// Starts it and waits until it says where it listens.
    fn start(mut command: Command, what: &str) -> Served {
        let output = tempfile::NamedTempFile::new().expect("a temporary file");
        let written = || output.reopen().expect("it is open");
        let child = command.stdin(Stdio::null()).stdout(written()).stderr(written()).spawn().expect("it runs");
        let mut served = Served { child, url: String::new() };
        let deadline = Instant::now() + Duration::from_secs(240);
        while served.url.is_empty() {
            let said = fs::read_to_string(output.path()).unwrap_or_default();
            assert!(served.child.try_wait().expect("it is our process").is_none(), "{what}: {said}");
            assert!(Instant::now() < deadline, "{what}: {said}");
            let url = said.lines().find_map(|line| line.strip_prefix("serving at "));
            served.url = url.unwrap_or_default().to_owned();
            std::thread::sleep(Duration::from_millis(20));
        }
        served
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let ended = self.child.wait();
        if !std::thread::panicking() {
            assert!(ended.is_ok_and(|status| status.success()), "it ends well");
        }
    }
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}
