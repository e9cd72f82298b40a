//! Notifications and metrics, against a server on this machine.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::{HOME, configured, run};
use crate::kit::{Machine, Run};

/// A server that notes what it is sent, and gives these answers in turn; the last one again and again. The text of an
/// answer follows its status after `|`.
pub(super) struct Server {
    pub(super) address: String,
    heard: Arc<Mutex<Vec<(String, String)>>>,
    pub(super) headers: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) fn start(answers: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let heard: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
        let headers: Arc<Mutex<Vec<String>>> = Arc::default();
        let (noted, noted_headers) = (heard.clone(), headers.clone());
        std::thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let mut reader = BufReader::new(stream.unwrap());
                let (mut first, mut length) = (String::new(), 0);
                reader.read_line(&mut first).unwrap();
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    if line.trim().is_empty() {
                        break;
                    }
                    noted_headers.lock().unwrap().push(line.trim().to_owned());
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let request = first.trim().trim_end_matches(" HTTP/1.1").to_owned();
                noted.lock().unwrap().push((request, String::from_utf8(body).unwrap()));
                let answer = answers.get(at).or(answers.last()).unwrap();
                let (status, text) = answer.split_once('|').unwrap_or((answer, ""));
                let length = text.len();
                let answer =
                    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}");
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        });
        Self { address, heard, headers }
    }

    /// What it was sent since it was last asked: the first line and the body of each request.
    pub(super) fn heard(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

/// A machine whose profile `home` tells this server.
fn telling(server: &Server, notify: &str) -> Machine {
    let profile = HOME.replacen("use = \"base\"", "use = \"base\"\nnotify = \"it\"", 1);
    let machine = configured(&format!("{profile}[notify.it]\n{}", notify.replace("SERVER", &server.address)));
    machine.write("letter", "1");
    machine
}

fn fail(machine: &Machine) -> crate::kit::Ran {
    machine.command(&["run", "-r", "elsewhere"]).ran()
}

#[test]
fn a_failure_and_a_recovery_are_told_and_a_run_that_goes_well_is_not() {
    let server = Server::start(&["200 OK"]);
    let machine = telling(&server, "webhook = \"SERVER/topic\"\n");
    run(&machine, &["run"]).ok();
    assert_eq!(server.heard(), []);
    fail(&machine).exits(10);
    let [(request, text)] = &server.heard()[..] else { panic!() };
    assert_eq!(request, "POST /topic");
    assert!(text.starts_with("laptop: profile home: backup failed (exit code 10): "), "{text}");
    run(&machine, &["run"]).ok();
    let [(_, text)] = &server.heard()[..] else { panic!() };
    assert!(text.contains("profile home: backup, forget, prune, check done in"), "{text}");
    run(&machine, &["run"]).ok();
    fail(&machine).exits(10);
    machine.command(&["run", "-n", "-r", "elsewhere"]).ran().exits(10);
    assert_eq!(server.heard().len(), 1, "a dry run tells nobody");
}

#[test]
fn a_failure_is_told_also_by_a_machine_that_has_no_place_to_remember_it() {
    let server = Server::start(&["200 OK"]);
    let machine = telling(&server, "webhook = \"SERVER\"\n");
    let mut command = machine.command(&["run", "--config", "home/.config/copal/copal.toml"]);
    command.env_remove("COPAL_REPOSITORY").env_remove("HOME").ran().exits(1);
    assert_eq!(server.heard().len(), 1);
}

#[test]
fn a_backup_that_is_too_old_is_told_and_so_is_a_week() {
    let server = Server::start(&["200 OK"]);
    let two = "webhook = \"SERVER\"\non = [\"stale\", \"weekly\"]\nstale-after = \"2d\"\n\
               [notify.patient]\nwebhook = \"SERVER/patient\"\non = \"stale\"\nstale-after = \"30d\"\n";
    let machine = telling(&server, two);
    run(&machine, &["run"]).ok();
    let past = machine.path("home/.local/state/copal/run/home.json");
    let mut noted: Value = serde_json::from_str(&fs::read_to_string(&past).unwrap()).unwrap();
    assert_eq!(fs::metadata(&past).unwrap().permissions().mode() & 0o777, 0o600);
    let week_ago = noted["saved"].as_i64().unwrap() - 8 * 86_400;
    (noted["saved"], noted["week"]) = (week_ago.into(), week_ago.into());
    fs::write(&past, noted.to_string()).unwrap();
    fail(&machine).exits(10);
    let texts: Vec<String> = server.heard().into_iter().map(|(_, text)| text).collect();
    let expected = [
        "laptop: profile home: no backup for 8 days",
        "laptop: profile home: 2 runs this week, 1 failed; the last backup is 8 days old",
    ];
    assert_eq!(texts, expected);
    fail(&machine).exits(10);
    assert_eq!(server.heard(), []);
}

#[test]
fn each_service_gets_the_form_that_it_reads() {
    let server = Server::start(&["200 OK"]);
    let sent = |notify: &str| {
        let machine = telling(&server, &format!("webhook = \"SERVER/x\"\non = [\"failure\"]\n{notify}"));
        fail(&machine).exits(10);
        server.heard().pop().unwrap()
    };
    let json = |body: &str| serde_json::from_str::<Value>(body).unwrap();
    assert!(json(&sent("form = \"slack\"\n").1)["text"].as_str().unwrap().starts_with("laptop: profile home"));
    assert_eq!(sent("form = \"healthchecks\"\n").0, "POST /x/fail");
    assert_eq!(sent("form = \"healthchecks\"\nbody = \"down\"\n"), ("POST /x/fail".into(), "down".into()));
    let whole = json(&sent("form = \"json\"\n").1);
    assert_eq!((&whole["event"], &whole["report"]["acts"][0]["exit_code"]), (&"failure".into(), &10.into()));
    let own = json(&sent("body = '{\"m\": \"{profile} {exit_code}: {text}\"}'\n").1);
    assert!(own["m"].as_str().unwrap().starts_with("home 10: profile home"), "{own}");
    let machine = telling(&server, "webhook = \"SERVER/x\"\nform = \"healthchecks\"\n");
    run(&machine, &["run"]).ok();
    assert_eq!(server.heard().pop().unwrap().0, "POST /x");
}

#[test]
fn an_address_may_be_a_secret_and_is_told_nowhere() {
    let server = Server::start(&["403 Forbidden"]);
    let machine = telling(&server, "webhook-file = \"HEREtoken\"\non = \"success\"\n");
    fs::write(machine.path("token"), format!("{}/TOKEN1\n", server.address)).unwrap();
    let told = run(&machine, &["run"]).ok();
    assert_eq!(server.heard().len(), 1, "what is refused is not sent again");
    assert!(
        told.err.contains("notification it could not be sent: the answer is 403") && !told.err.contains("TOKEN1"),
        "{told}"
    );
    fs::write(machine.path("token"), "http://127.0.0.1:1/TOKEN1\n").unwrap();
    let told = run(&machine, &["run"]).ok();
    assert!(told.err.contains("could not be sent") && !told.err.contains("TOKEN1"), "{told}");
    let machine = telling(&server, "webhook = \"SERVER/TOKEN2\"\n");
    let shown =
        [&["config", "show"][..], &["config", "check"]].map(|words| run(&machine, words).ok().to_string()).concat();
    assert!(!shown.contains("TOKEN2"), "{shown}");
    let machine = telling(&server, "webhook-variable = \"HOOK\"\non = \"success\"\n");
    machine.command(&["run"]).env("HOOK", format!("{}/v", server.address)).ran().ok();
    assert_eq!(server.heard().pop().unwrap().0, "POST /v");
}

#[test]
fn a_server_that_is_busy_is_asked_again() {
    let server = Server::start(&["503 Busy", "200 OK"]);
    let machine = telling(&server, "webhook = \"SERVER\"\non = \"success\"\n");
    let told = run(&machine, &["run"]).ok();
    assert_eq!((server.heard().len(), told.err.contains("could not")), (2, false));
}

#[test]
fn numbers_of_a_run_are_written_and_pushed_for_prometheus() {
    let server = Server::start(&["200 OK"]);
    let metrics = "use = \"base\"\nmetrics-file = \"HEREcopal.prom\"\nmetrics-push = \"SERVER/push\"";
    let machine = configured(&HOME.replacen("use = \"base\"", metrics, 1).replace("SERVER", &server.address));
    machine.write("letter", "12345");
    run(&machine, &["run"]).ok();
    let text = fs::read_to_string(machine.path("copal.prom")).unwrap();
    for line in [
        "# TYPE copal_run_exit_code gauge",
        "copal_run_exit_code{profile=\"home\"} 0",
        "copal_act_exit_code{profile=\"home\",act=\"check\"} 0",
        "copal_backup_files_new{profile=\"home\"} 1",
        "copal_backup_bytes_scanned{profile=\"home\"} 5",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} in {text}");
    }
    assert_eq!(fs::metadata(machine.path("copal.prom")).unwrap().permissions().mode() & 0o777, 0o644);
    let pushed = server.heard();
    assert_eq!(pushed[0].0, "PUT /push/metrics/job/copal/instance/laptop/profile/home");
    assert_eq!(pushed[0].1, text);
    let saved =
        |text: &str| text.lines().find(|line| line.starts_with("copal_backup_saved_time_seconds{")).unwrap().to_owned();
    fail(&machine).exits(10);
    let later = fs::read_to_string(machine.path("copal.prom")).unwrap();
    assert!(later.contains("copal_run_exit_code{profile=\"home\"} 10\n") && !later.contains("files_new"), "{later}");
    assert_eq!(saved(&later), saved(&text), "a failed run has saved nothing");
}

/// A server of mail that takes one message at a time; gives all that it has heard, up to the end of each message and of
/// each connection.
fn mail_server(address: &str) -> (u16, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, taken) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut heard, mut is_text) = (String::new(), false);
            reader.get_mut().write_all(b"220 test\r\n").unwrap();
            loop {
                // Whoever speaks TLS says no text.
                let mut line = Vec::new();
                let read = reader.read_until(b'\n', &mut line);
                let line = String::from_utf8_lossy(&line);
                heard.push_str(&line);
                if !read.is_ok_and(|length| length > 0) {
                    break;
                }
                let answer = match line.trim_end() {
                    "." => "250 taken\r\n",
                    _ if is_text => continue,
                    line if line.starts_with("EHLO") => "250-test\r\n250 AUTH PLAIN\r\n",
                    line if line.starts_with("AUTH") => "235 known\r\n",
                    "DATA" => "354 go on\r\n",
                    "QUIT" => "221 bye\r\n",
                    _ => "250 well\r\n",
                };
                is_text = line.trim_end() == "DATA";
                let _ = reader.get_mut().write_all(answer.as_bytes());
                if answer.starts_with("250 taken") {
                    let _ = sender.send(std::mem::take(&mut heard));
                }
            }
            let _ = sender.send(heard);
        }
    });
    (port, taken)
}

#[test]
fn mail_tells_what_failed() {
    let (port, taken) = mail_server("127.0.0.1");
    let notify = format!(
        "mail-to = [\"a@example.org\", \"B <b@example.org>\"]\nmail-from = \"copal@example.org\"\nsmtp = \"smtp://127.0.0.1:{port}\"\n\
         smtp-user = \"me\"\nsmtp-password-file = \"HEREword\"\n"
    );
    let profile = HOME.replacen("use = \"base\"", "use = \"base\"\nnotify = \"it\"", 1);
    let machine = configured(&format!("{profile}[notify.it]\n{notify}"));
    fs::write(machine.path("word"), "hunter2\n").unwrap();
    fail(&machine).exits(10);
    let heard = taken.recv().unwrap();
    for line in [
        "MAIL FROM:<copal@example.org>",
        "RCPT TO:<a@example.org>",
        "RCPT TO:<b@example.org>",
        "Subject: copal on laptop: home: failure",
    ] {
        assert!(heard.lines().any(|other| other.starts_with(line)), "{line} in {heard}");
    }
    assert!(heard.contains("profile home: backup failed (exit code 10)"), "{heard}");
    assert!(heard.contains("AUTH PLAIN AG1lAGh1bnRlcjI="), "the name and the password of the file: {heard}");
}

#[test]
fn mail_to_another_machine_goes_by_tls_or_not_at_all() {
    // An address that is not known to be this machine's, and a server without TLS.
    let (port, taken) = mail_server("127.0.0.2");
    let machine = |smtp: &str| {
        let notify = "mail-to = \"a@b.c\"\nmail-from = \"c@b.c\"\nsmtp-user = \"me\"\nsmtp-password-file = \"HEREword\"\non = \"success\"\n";
        let profile = HOME.replacen("use = \"base\"", "use = \"base\"\nnotify = \"it\"", 1);
        let machine = configured(&format!("{profile}[notify.it]\nsmtp = \"{smtp}:{port}\"\n{notify}"));
        fs::write(machine.path("word"), "hunter2\n").unwrap();
        machine
    };
    let fails = |smtp: &str| {
        let told = run(&machine(smtp), &["run"]).ok();
        assert!(told.err.contains("notification it could not be sent") && !told.err.contains("hunter2"), "{told}");
    };
    fails("ftp://127.0.0.2");
    for smtp in ["smtp://127.0.0.2", "smtps://127.0.0.2"] {
        fails(smtp);
        let heard = taken.recv().unwrap();
        assert_eq!(heard.contains("EHLO"), smtp.starts_with("smtp:"), "{heard}");
        for secret in ["AUTH", "MAIL", "RCPT", "hunter2", "AG1lAGh1bnRlcjI="] {
            assert!(!heard.contains(secret), "{secret} was sent without TLS: {heard}");
        }
    }
    let told = run(&machine("smtp://me:hunter2@127.0.0.2"), &["run"]).ok();
    assert!(told.err.contains("belong to smtp-user") && !told.err.contains("hunter2"), "{told}");
    assert!(taken.try_recv().is_err());
}

#[test]
fn a_link_in_the_place_of_a_file_of_metrics_is_replaced_and_not_followed() {
    let machine = configured(&HOME.replacen("use = \"base\"", "use = \"base\"\nmetrics-file = \"HEREcopal.prom\"", 1));
    fs::write(machine.path("victim"), "mine").unwrap();
    fs::set_permissions(machine.path("victim"), fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(machine.path("victim"), machine.path("copal.prom")).unwrap();
    run(&machine, &["run"]).ok();
    assert!(machine.path("copal.prom").symlink_metadata().unwrap().is_file());
    let mode = fs::metadata(machine.path("victim")).unwrap().permissions().mode() & 0o777;
    assert_eq!((fs::read_to_string(machine.path("victim")).unwrap(), mode), ("mine".into(), 0o600));
}

#[test]
fn a_table_that_tells_nobody_is_refused() {
    let refused = |text: &str, words: &str| {
        let told = run(&configured(text), &["config", "check"]).exits(2);
        assert!(told.err.contains(words), "{told}");
    };
    refused("[profiles.a]\nnotify = \"it\"\n", "line 2: there is no table [notify.it]");
    refused("[notify.it]\nform = \"text\"\n", "[notify.it] has no address");
    refused("[notify.it]\nwebhok = \"https://x\"\n", "line 2: unknown key \"webhok\" in [notify.it]");
    refused("[notify.it]\nwebhook = \"https://x\"\ntoken = \"abc\"\n", "line 3: token must not stand here");
}
