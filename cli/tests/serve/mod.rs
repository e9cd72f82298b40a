//! Serve: real processes at both ends of a gateway, over HTTP, TLS and a pipe.

mod certificates;
mod jobs;
mod ordered;
mod secured;
pub(crate) mod server;
mod strangers;
mod stolen;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use copal_format::pack;

use crate::kit::{COPAL, Harm, Machine, PASSPHRASE, Run, Running, assert_same, noise, until};
use crate::managed::world::managed;
use server::{At, Server, get, send};

fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("a/letter", "Dear reader");
    machine.write("noise", noise(1, 300_000));
    machine
}

/// Restores the source through an address and compares.
fn restores(machine: &Machine, url: &str) {
    let _ = fs::remove_dir_all(machine.path("out"));
    machine.at(url, &["restore", &machine.whole(), "-t", "out"]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
}

#[test]
fn a_served_repository_is_used_like_any_other() {
    let machine = machine();
    let server = Server::start(&machine, &[]);
    machine.at(&server.url, &["backup", "source"]).ok();
    machine.write("a/letter", "Dear reader, once more");
    machine.at(&server.url, &["backup", "source"]).ok();
    restores(&machine, &server.url);
    assert_eq!(machine.at(&server.url, &["snapshots"]).ok().lines().len(), machine.run(&["snapshots"]).lines().len());
    machine.at(&server.url, &["check", "--full"]).ok();
    machine.at(&server.url, &["forget", "--keep-last", "1"]).ok();
    assert_eq!(machine.snapshots().len(), 1);
    machine.run(&["check", "--full"]).ok();
}

#[test]
fn what_a_check_through_the_gateway_finds_the_service_notes_and_the_next_backup_heals() {
    let machine = managed();
    machine.write("noise", noise(1, 300_000));
    let server = Server::start(&machine, &[]);
    machine.at(&server.url, &["backup", "source"]).ok();
    let [pack] = machine.packs(0).try_into().expect("one pack of data");
    machine.damage(&pack, Harm::Flip);
    let found = machine.at(&server.url, &["check", "--read-data"]).exits(4);
    assert!(found.err.contains("the service was asked to look at 1 pack itself"), "{found}");
    until("it is stored again", || {
        machine.at(&server.url, &["backup", "source"]).ok();
        (machine.packs(0).len() > 1).then_some(())
    });
    restores(&machine, &server.url);
}

#[test]
fn shares_that_are_read_through_a_gateway_take_turns() {
    for depth in [&["check"][..], &["check", "--full"]] {
        let machine = managed();
        let server = Server::start(&machine, &["--check-every", "0s"]);
        for seed in 1..4 {
            machine.write(&format!("{seed}"), noise(seed, 50_000));
            machine.at(&server.url, &["backup", "source"]).ok();
        }
        let (names, data) = (machine.names("packs/"), machine.packs(0));
        let last = names.iter().rposition(|name| data.contains(name)).unwrap();
        let block = pack::parse(&machine.objects()[&names[last]]).unwrap().blocks[0].offset;
        machine.flip(&names[last], block as usize + 20);
        let share = format!("1/{}", names.len());
        let check = |_| machine.at(&server.url, &[depth, &["--read-data-share", &share]].concat()).code;
        let codes: Vec<i32> = (0..=last).map(check).collect();
        assert_eq!((codes.iter().sum(), codes[last]), (4, 4), "{depth:?} {codes:?}");
    }
}

#[test]
fn a_backup_through_the_gateway_against_a_damaged_index_says_so() {
    let machine = machine();
    let server = Server::start(&machine, &[]);
    machine.at(&server.url, &["backup", "source"]).ok();
    let segment = machine.names("index/").remove(0);
    let last = machine.objects()[&segment].len() - 1;
    machine.flip(&segment, last);
    machine.write("more", noise(3, 50_000));
    let run = machine.at(&server.url, &["backup", "source"]).exits(4);
    assert!(run.err.contains(&segment) && run.err.contains("rebuild-index"), "{run}");
}

#[test]
fn a_change_is_decided_as_soon_as_it_arrives() {
    let machine = managed();
    machine.write("letter", "Dear reader");
    // Nothing is looked for by the clock: only arrivals hasten ingest.
    let server = Server::start(&machine, &["--ingest-every", "0s"]);
    machine.at(&server.url, &["backup", "source"]).ok();
    let started = Instant::now();
    machine.at(&server.url, &["forget", "latest"]).ok();
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert_eq!(machine.snapshots().len(), 0);
}

#[test]
fn jobs_are_for_who_serves() {
    let machine = machine();
    let server = Server::start(&machine, &[]);
    machine.at(&server.url, &["backup", "source"]).ok();
    machine.at(&server.url, &["forget", "latest"]).ok();
    let before = machine.names("packs/");
    let roots = machine.names("roots/");
    let jobs: [(&[&str], _); 5] = [
        (&["prune", "--grace", "0s"], "cannot prune"),
        (&["ingest"], "cannot ingest"),
        (&["compact"], "cannot compact"),
        (&["rebuild-index"], "cannot rebuild"),
        (&["serve"], "is served by a gateway already"),
    ];
    for (job, why) in jobs {
        let refused = machine.at(&server.url, job);
        assert!(refused.code != 0 && refused.err.contains(why), "{refused}");
    }
    assert_eq!(machine.names("roots/"), roots);
    assert_eq!(machine.names("packs/"), before);
    machine.run(&["check"]).ok();
}

#[test]
fn a_repository_is_made_through_a_gateway_that_lets_whoever_comes_first() {
    let machine = Machine::bare();
    machine.write("letter", "Dear reader");
    fs::create_dir(machine.path("repository")).unwrap();
    let server = Server::start(&machine, &["--accept-init"]);
    let init = |key: &str| {
        let mut command = machine.command(&["--key-file", key, "init"]);
        command.env("COPAL_REPOSITORY", &server.url).env("COPAL_PASSWORD", PASSPHRASE).ran()
    };
    init("key").ok();
    machine.at(&server.url, &["backup", "source"]).ok();
    restores(&machine, &server.url);
    assert_ne!(init("other").code, 0, "it is there already");
    // Beside the store it is used as well.
    drop(server);
    machine.backup(&[]);
    assert_eq!(machine.snapshots().len(), 2);
}

#[test]
fn a_place_that_has_lost_its_descriptors_is_not_served_as_a_free_one() {
    let machine = machine();
    machine.backup(&[]);
    machine.names("copal/").iter().for_each(|name| machine.damage(name, Harm::Delete));
    let refused = machine.command(&["serve", "--listen", "127.0.0.1:0", "--accept-init"]).ran();
    assert!(refused.code != 0 && refused.err.contains("the descriptors are gone"), "{refused}");
    machine.run(&["repair"]);
    let server = Server::start(&machine, &["--accept-init"]);
    assert_eq!(machine.at(&server.url, &["snapshots", "--json"]).ok().json().as_array().unwrap().len(), 1);
}

#[test]
fn a_new_machine_needs_open_slots_and_then_only_the_passphrase() {
    let machine = machine();
    machine.backup(&[]);
    let new = |url: &str, arguments: &[&str]| {
        let mut command = machine.with_key(arguments);
        command.env("COPAL_REPOSITORY", url).env("HOME", machine.path("another home")).ran()
    };
    let closed = Server::start(&machine, &[]);
    let refused = new(&closed.url, &["snapshots"]);
    assert!(refused.code != 0 && refused.err.contains("copal client join"), "{refused}");
    drop(closed);
    let open = Server::start(&machine, &["--open-slots"]);
    let listed = new(&open.url, &["snapshots", "--json"]).ok();
    assert_eq!(listed.json().as_array().unwrap().len(), 1, "who only reads registers nothing");
    assert_eq!(machine.records(), 1);
    new(&open.url, &["backup", "source"]).ok();
    assert_eq!(machine.records(), 2);
    new(&open.url, &["check", "--full"]).ok();
}

/// What stands for ssh: a script that knows the command as `$command`.
fn script(machine: &Machine, name: &str, body: &str) -> PathBuf {
    let path = machine.path(name);
    let words = "for word; do command=$word; done";
    fs::write(&path, format!("#!/bin/sh\n{words}\nrest=${{command#copal }}\ncopal='{COPAL}'\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// What stands for ssh: it runs the last word in a shell, here.
fn fake_ssh(machine: &Machine) -> PathBuf {
    let home = machine.path("server home");
    script(machine, "ssh", &format!("HOME='{}' exec sh -c \"exec $copal $rest\"", home.display()))
}

#[test]
fn a_repository_behind_ssh_is_made_filled_and_restored() {
    let machine = Machine::bare();
    machine.write("letter", "Dear reader");
    machine.write("noise", noise(2, 3_000_000));
    let ssh = fake_ssh(&machine);
    let url = format!("ssh://me@host{}/re po", machine.path("").display().to_string().trim_end_matches('/'));
    let run = |arguments: &[&str]| {
        let mut command = machine.with_key(arguments);
        command.env("COPAL_REPOSITORY", &url).env("COPAL_SSH", &ssh).env("COPAL_PASSWORD", PASSPHRASE).ran()
    };
    assert_eq!(run(&["snapshots"]).code, 10, "there is none yet");
    assert!(!machine.path("re po").exists(), "and none is made by looking");
    fs::create_dir(machine.path("re po")).unwrap();
    fs::write(machine.path("re po/letter"), "somebody's").unwrap();
    let init = || {
        machine
            .command(&["--key-file", "key", "init"])
            .env("COPAL_REPOSITORY", &url)
            .env("COPAL_SSH", &ssh)
            .env("COPAL_PASSWORD", PASSPHRASE)
            .ran()
    };
    assert_ne!(init().code, 0, "the directory is somebody's");
    assert_eq!(fs::read_dir(machine.path("re po")).unwrap().count(), 1);
    fs::remove_file(machine.path("re po/letter")).unwrap();
    init().ok();
    run(&["backup", "source"]).ok();
    run(&["restore", &machine.whole(), "-t", "out"]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
    run(&["backup", "source"]).ok();
    // Each is taken up at once by the process at the other end.
    let begun = Instant::now();
    run(&["tag", "latest", "--add", "good"]).ok();
    run(&["forget", "--keep-last", "1"]).ok();
    fs::write(machine.path("policy.toml"), "keep-last = 3\n").unwrap();
    run(&["policy", "set", "policy.toml"]).ok();
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
    assert_eq!(run(&["snapshots", "--json"]).ok().json().as_array().unwrap().len(), 1);
    run(&["check", "--full"]).ok();
}

#[test]
fn no_more_is_stored_than_the_quotas_say() {
    for (quota, why) in
        [("--quota", "this client's domain may hold"), ("--daily-quota", "within 24 hours this client may add")]
    {
        let machine = machine();
        let server = Server::start(&machine, &[quota, "100k"]);
        let refused = machine.at(&server.url, &["backup", "source"]);
        assert!(refused.code != 0 && refused.err.contains(why), "{quota}: {refused}");
        assert!(machine.snapshots().is_empty(), "{quota}");
    }
}

#[test]
fn pages_of_the_named_origin_alone_may_use_the_gateway() {
    let machine = machine();
    machine.backup(&[]);
    let server = Server::start(&machine, &["--cors", "https://page.example"]);
    let ask = |origin: &str| {
        let request = "OPTIONS /v1/uploads HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
        send(&server.url, format!("{request}origin: {origin}\r\n\r\n"))
    };
    let allowed = ask("https://page.example");
    assert!(allowed.contains("access-control-allow-origin: https://page.example\r\n"), "{allowed}");
    assert!(!ask("https://other.example").contains("access-control-allow-origin"));
}

#[test]
fn prometheus_is_told_of_requests_and_jobs() {
    let machine = machine();
    machine.backup(&[]);
    let options = ["--metrics-listen", "127.0.0.1:0", "--compact-every", "1s", "--check-every", "1s"];
    let server = Server::start(&machine, &[&options[..], &["--prune-every", "1s", "--expire-every", "1s"]].concat());
    machine.at(&server.url, &["snapshots"]).ok();
    let metrics = server.metrics.clone().unwrap();
    let jobs = ["ingest", "expire", "compact", "prune", "check"];
    let text = until("each job succeeds", || {
        let text = get(&metrics);
        let ran = |job: &&str| text.contains(&format!("copal_succeeded{{job=\"{job}\"}}"));
        jobs.iter().all(ran).then_some(text)
    });
    assert!(text.contains("copal_responses_total{method=\"GET\",path=\"/v1/objects\",status=\"200\"}"), "{text}");
    assert!(text.contains("copal_damage{job=\"check\"} 0.0") && text.ends_with("# EOF\n"), "{text}");
    assert!(get(&format!("{}/metrics", server.url)).starts_with("HTTP/1.1 404"), "not where clients come");
    assert!(get(&format!("{}/v1/health", server.url)).contains("\"ok\""));
    machine.run(&["check", "--full"]).ok();
}

#[test]
fn a_policy_that_cannot_be_read_stops_no_check_and_is_what_it_finds() {
    let machine = machine();
    machine.backup(&[]);
    machine.set_policy("keep-last = 3\n");
    machine.damage(&machine.names("changes/")[0], Harm::Flip);
    let server = Server::start(&machine, &["--metrics-listen", "127.0.0.1:0", "--check-every", "1s"]);
    let metrics = server.metrics.clone().unwrap();
    let text = until("a check succeeds", || {
        Some(get(&metrics)).filter(|text| text.contains("copal_succeeded{job=\"check\"}"))
    });
    let damage = text.lines().find(|line| line.starts_with("copal_damage{job=\"check\"}")).unwrap();
    assert!(!damage.ends_with(" 0.0"), "{damage}");
}

#[test]
fn a_server_that_is_ended_in_the_middle_of_an_upload_leaves_the_repository_sound() {
    let machine = machine();
    machine.backup(&[]);
    let packs = machine.names("packs/").len();
    for part in 0..6 {
        machine.write(&format!("large {part}"), noise(100 + part, 20_000_000));
    }
    let mut server = Server::start(&machine, &[]);
    let mut backup = machine.with_key(&["backup", "source"]);
    let mut backup = Running::start(backup.env("COPAL_REPOSITORY", &server.url));
    until("it is uploading", || {
        assert!(!backup.has_ended());
        (machine.names("packs/").len() > packs).then_some(())
    });
    // As a service manager does.
    server.process.signal("TERM");
    assert_eq!(server.process.wait(), 0);
    drop(backup);
    machine.run(&["check", "--full"]).ok();
    assert_eq!(machine.snapshots().len(), 1);
    let server = Server::start(&machine, &[]);
    machine.at(&server.url, &["backup", "source"]).ok();
    restores(&machine, &server.url);
}

#[test]
fn a_repository_that_changes_its_owner_is_not_served() {
    let machine = machine();
    drop(Server::start(&machine, &[]));
    let named = machine.command(&["serve", "--owner-fingerprint", &"00".repeat(32)]).ran();
    assert!(named.code != 0 && named.err.contains("was expected"), "{named}");
    fs::write(machine.kept("owner"), "11".repeat(32)).unwrap();
    let changed = machine.command(&["serve"]).ran();
    assert!(changed.code != 0 && changed.err.contains("was expected"), "{changed}");
}

#[test]
fn what_is_not_there_is_not_served_and_a_web_page_is() {
    let bare = Machine::bare();
    assert_eq!(bare.command(&["serve"]).ran().code, 10);
    let machine = machine();
    fs::create_dir(machine.path("web")).unwrap();
    fs::write(machine.path("web/index.html"), "a page").unwrap();
    let server = Server::start(&machine, &["--web", "web"]);
    assert!(get(&format!("{}/index.html", server.url)).ends_with("a page"));
    assert!(get(&format!("{}/../key", server.url)).starts_with("HTTP/1.1 4"));
}
