//! Real servers behind addresses with a scheme keep the promises of the seam.

pub(crate) mod machine;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use copal_store::retry::{Backoff, Retry};
use copal_store::site::Site;
use copal_store::{Created, Store, StoreError, conformance, list_all};
use copal_tests::kit::emulator::{Cloud, Emulator};
use copal_tests::kit::key;
use copal_tests::kit::line::long_line;
use copal_tests::kit::sshd::Sshd;
use futures::executor::block_on;
use futures::future::join_all;
use machine::Machine;

#[test]
fn openssh_conforms() {
    let (server, place) = (Sshd::start(), tempfile::tempdir().expect("a temporary directory"));
    conformance::run(|| server.store(&new_folder(place.path())));
    let store = server.store(&place.path().join("deep/er"));
    block_on(store.make()).expect("the directory is made with its parents");
    block_on(store.probe()).expect("it keeps its promises");
    assert_eq!(block_on(list_all(&store, "")).expect("list"), [], "nothing of the probe is left");
    one_of_eight_machines_wins(|| server.store(&place.path().join("deep/er")));
}

#[test]
fn azurite_conforms() {
    a_cloud_conforms(&Emulator::start(Cloud::Azure));
}

#[test]
fn a_store_like_googles_conforms() {
    a_cloud_conforms(&Emulator::start(Cloud::Google));
}

#[test]
fn lighttpds_webdav_conforms() {
    a_cloud_conforms(&Emulator::start(Cloud::WebDav));
}

fn a_cloud_conforms(server: &Emulator) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Each promise is tried below a prefix of its own, next to others that begin alike.
    let new = |prefix: &str| {
        let store = server.store(prefix);
        block_on(store.make()).expect("a folder can be made");
        store
    };
    conformance::run(|| new(&format!("a/{}", NEXT.fetch_add(1, Ordering::Relaxed))));
    let store = new("probed");
    block_on(store.probe()).expect("it keeps its promises");
    assert_eq!(block_on(list_all(&store, "")).expect("list"), [], "nothing of the probe is left");
    one_of_eight_machines_wins(|| new("raced"));
}

#[test]
fn no_error_shows_a_credential() {
    let server = Emulator::start(Cloud::Azure);
    let string = |key: &str, at: SocketAddr| {
        format!("AccountName=devstoreaccount1;AccountKey={key};BlobEndpoint=http://{at}/devstoreaccount1;")
    };
    // A key of another account, one that is no base64, no connection string, and a token.
    let secret = "c2VjcmV0LWtleS1vZi1hbi1hY2NvdW50";
    for (setting, token) in [
        (string(secret, server.address()), ""),
        (string("no-base64-secret", server.address()), ""),
        ("secret".to_owned(), ""),
        (format!("BlobEndpoint=http://{}/devstoreaccount1", server.address()), "sv=2021-08-06&sig=secret"),
    ] {
        let variables =
            vec![("AZURE_STORAGE_CONNECTION_STRING", setting), ("AZURE_STORAGE_SAS_TOKEN", token.to_owned())];
        let machine = Machine::new("azblob://bucket/p", variables);
        let mut command = machine.command(&["snapshots"]);
        let told = command.env("RUST_BACKTRACE", "1").env("RUST_LOG", "trace").output().expect("the command runs");
        let text = String::from_utf8_lossy(&[told.stdout, told.stderr].concat()).into_owned();
        assert!(!told.status.success() && !text.contains("secret") && !text.contains(secret), "{text}");
    }
}

#[test]
fn a_repository_in_azurite_goes_round_survives_kills_and_heals() {
    a_cloud_keeps_a_repository(&Emulator::start(Cloud::Azure));
}

#[test]
fn a_repository_in_a_store_like_googles_goes_round_survives_kills_and_heals() {
    a_cloud_keeps_a_repository(&Emulator::start(Cloud::Google));
}

#[test]
fn a_repository_behind_webdav_goes_round_survives_kills_and_heals() {
    a_cloud_keeps_a_repository(&Emulator::start(Cloud::WebDav));
}

fn a_cloud_keeps_a_repository(server: &Emulator) {
    let machine = Machine::new(&server.url(server.address(), "mine"), server.environment(server.address()));
    machine.goes_round();
    machine.survives_kills();
    machine.heals(server.store("mine"));
    let line = long_line(server.address(), EACH_WAY);
    let far = Machine::new(&server.url(line, "far"), server.environment(line));
    is_no_slower_than_its_round_trips(&far);
}

#[test]
fn a_repository_behind_sftp_goes_round_survives_kills_and_heals() {
    let (server, place) = (Sshd::start(), tempfile::tempdir().expect("a temporary directory"));
    let root = place.path().join("deep/er");
    let machine = at(&server, server.address(), &root);
    machine.goes_round();
    machine.survives_kills();
    machine.heals(server.store(&root));
    // The disk is not mounted there: nobody makes another repository in its place.
    std::fs::rename(&root, place.path().join("unmounted")).expect("it is ours");
    let refused = machine.try_to_init(&[]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(10) && told.contains("mount its disk") && !root.exists(), "{told}");
}

#[test]
fn a_repository_behind_sftp_is_no_slower_over_a_long_line_than_its_round_trips() {
    let (server, place) = (Sshd::start(), tempfile::tempdir().expect("a temporary directory"));
    is_no_slower_than_its_round_trips(&at(&server, long_line(server.address(), EACH_WAY), &place.path().join("far")));
}

fn is_no_slower_than_its_round_trips(machine: &Machine) {
    machine.init(&[]);
    (0..200).for_each(|file| machine.write(&format!("many/{file}"), 5_000, file));
    let took = |prepare: &dyn Fn(u64), act: &dyn Fn()| {
        let once = |turn| {
            prepare(turn);
            let start = Instant::now();
            act();
            start.elapsed().as_secs_f64() / (2.0 * EACH_WAY.as_secs_f64())
        };
        // On a machine that is busy with other tests, more turns are taken.
        (0..3).map(once).find(|trips| *trips < MOST_TRIPS)
    };
    let large = |turn| machine.write("large", 24 << 20, 1_000 + turn);
    let back_up = || drop(machine.backup());
    let trips = [took(&large, &back_up), took(&|_| (), &back_up), took(&|_| (), &|| machine.restores())];
    assert!(trips.iter().all(Option::is_some), "round trips of a backup, another and a restore: {trips:?}");
}

/// One request after the other for each piece of SFTP would take 800 for the large file alone.
const MOST_TRIPS: f64 = 300.0;

fn at(server: &Sshd, address: SocketAddr, root: &Path) -> Machine {
    let url = format!("sftp://{}:{}{}", address.ip(), address.port(), root.display());
    Machine::new(&url, [("COPAL_SSH", server.ssh().display().to_string())])
}

#[test]
fn a_connection_that_breaks_loses_nothing_and_is_made_again() {
    let (server, place) = (Sshd::start(), tempfile::tempdir().expect("a temporary directory"));
    let store = server.store(place.path());
    let pause = store.pause();
    let store = Retry::new(store, Backoff::default(), pause);
    block_on(store.now()).expect("it is there");
    let bytes = Bytes::from(vec![7; 8 << 20]);
    let all = (0..8).map(|number| key(&format!("packs/{number}"))).collect::<Vec<_>>();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let cutting = scope.spawn(|| {
            // While something of the objects lies there.
            while std::fs::read_dir(place.path().join("tmp")).map_or(0, Iterator::count) == 0 {
                thread::yield_now();
            }
            let mut cuts = 0;
            // Once everything is stored, nobody connects again.
            while cuts < 3 && !is_done.load(Ordering::Relaxed) {
                cuts += u32::from(server.cut());
                thread::yield_now();
            }
            cuts
        });
        let created = block_on(join_all(all.iter().map(|key| store.create(key, bytes.clone()))));
        is_done.store(true, Ordering::Relaxed);
        assert!(created.iter().all(Result::is_ok), "{created:?}");
        assert!(cutting.join().expect("connections were cut") > 0);
    });
    for key in &all {
        assert!(block_on(store.read(key)).expect("read") == bytes, "{key}");
    }
}

#[test]
fn a_directory_that_is_gone_is_not_taken_for_an_empty_one() {
    let (server, place) = (Sshd::start(), tempfile::tempdir().expect("a temporary directory"));
    let root = new_folder(place.path());
    let store = server.store(&root);
    block_on(store.create(&key("roots/1"), Bytes::new())).expect("create");
    std::fs::rename(&root, place.path().join("elsewhere")).expect("it is ours");
    for result in [
        block_on(store.list("", None, 10)).map(drop),
        block_on(store.read(&key("roots/1"))).map(drop),
        block_on(store.stat(&key("roots/1"))).map(drop),
        block_on(store.create(&key("roots/2"), Bytes::new())).map(drop),
        block_on(store.delete(&key("roots/1"))),
    ] {
        assert!(matches!(result, Err(StoreError::Gone { .. })), "{result:?}");
    }
    assert!(!root.exists(), "nothing makes it but init");
}

#[test]
fn a_disk_that_takes_nothing_any_more_is_restored_from_on_a_new_machine() {
    let server = Sshd::start();
    let disk = Disk::mount("nr_inodes=400");
    let machine = at(&server, server.address(), &disk.path().join("r"));
    machine.init(&[]);
    machine.write("a", 1_000_000, 1);
    machine.backup();
    let store = server.store(&disk.path().join("r"));
    let create = || block_on(store.create(&key("roots/new"), Bytes::from_static(b"x")));
    let fills = |number: &u32| std::fs::File::create(disk.path().join(number.to_string())).is_ok();
    assert!((0..500).take_while(fills).count() < 500, "the disk has no room for names");
    assert!(
        matches!(create(), Err(StoreError::Full { .. }))
            && matches!(block_on(store.now()), Err(StoreError::Full { .. }))
    );
    machine.forgets_all_but_its_key();
    machine.restores();
    disk.remount("ro");
    assert!(matches!(create(), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(block_on(store.now()), Err(StoreError::ReadOnly { .. })));
    machine.forgets_all_but_its_key();
    machine.restores();
    machine.copal(&["check"]);
}

/// A disk in memory.
struct Disk(tempfile::TempDir);

impl Disk {
    fn mount(options: &str) -> Disk {
        let disk = Disk(tempfile::tempdir().expect("a temporary directory"));
        disk.mounted(&["-t", "tmpfs", "-o", options, "none"]);
        disk
    }

    fn remount(&self, option: &str) {
        self.mounted(&["-o", &format!("remount,{option}")]);
    }

    fn mounted(&self, options: &[&str]) {
        let done = Command::new("mount").args(options).arg(self.path()).status();
        assert!(done.is_ok_and(|status| status.success()), "the tests run as root");
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

#[test]
fn a_server_without_hard_links_or_syncs_is_refused_and_told_why() {
    for request in ["hardlink", "fsync"] {
        let (server, place) = (Sshd::denying(&format!("-P {request}")), tempfile::tempdir().expect("a directory"));
        let machine = at(&server, server.address(), &place.path().join("r"));
        let refused = machine.try_to_init(&[]);
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && told.contains("has no hardlink@openssh.com or no fsync"), "{told}");
    }
}

/// Eight stores with connections of their own race for one name, again and again.
fn one_of_eight_machines_wins<S: Store>(open: impl Fn() -> S) {
    let machines: Vec<Arc<S>> = (0..8).map(|_| Arc::new(open())).collect();
    for round in 0..20 {
        let key = key(&format!("roots/{round}"));
        let start = std::sync::Barrier::new(machines.len());
        let create = |number: usize, machine: &S| {
            block_on(machine.now()).expect("connected");
            start.wait();
            block_on(machine.create(&key, Bytes::from(vec![number as u8; 1_000]))).expect("create")
        };
        let created: Vec<Created> = thread::scope(|scope| {
            let create = &create;
            let threads: Vec<_> = machines
                .iter()
                .enumerate()
                .map(|(number, machine)| scope.spawn(move || create(number, machine)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let winners: Vec<usize> = (0..machines.len()).filter(|&number| created[number] == Created::New).collect();
        assert_eq!(winners.len(), 1, "{winners:?}");
        assert_eq!(block_on(machines[0].read(&key)).expect("read"), [winners[0] as u8; 1_000].as_slice());
    }
}

fn new_folder(place: &Path) -> PathBuf {
    tempfile::tempdir_in(place).expect("a temporary directory").keep()
}

/// A line of 60 ms there and back.
const EACH_WAY: Duration = Duration::from_millis(30);
