//! Everything at once, with real processes: machines that save through the gateway, the functions, a real S3 server; and
//! what goes wrong with them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use copal_engine::layout;
use copal_service::gateway::read_facts;
use copal_service::view;
use copal_store::list_all;
use copal_store::s3::S3Store;
use copal_tests::kit::lambda::machine::contents;
use copal_tests::kit::lambda::{Cloud, Deployment, Faults, Machine, Outcome};
use copal_tests::kit::s3::{Kind, Server};
use futures::executor::block_on;
use serde_json::{Value, json};

type Contents = BTreeMap<PathBuf, Option<Vec<u8>>>;

#[test]
fn three_clients_save_while_everything_fails_and_every_snapshot_restores() {
    let mut world = World::new();
    let cloud = world.cloud();
    let gateway = cloud.gateway();
    let owner = world.machine("owner", PASSPHRASE, &gateway, true);
    std::fs::write(
        owner.place("policy.toml"),
        "keep-last = 100\ntimezone = \"\"\ngrace = \"2s\"\ncheck-share = \"1/2\"\n",
    )
    .unwrap();
    owner.run(&["policy", "set", "policy.toml"]).unwrap();

    let laptop = world.join(&owner, "laptop", "full", &gateway);
    let desk = world.join(&owner, "desk", "full", &gateway);
    let till = world.join(&owner, "till", "write-only", &gateway);
    let machines = [&laptop, &desk, &till];

    // Each saves three times; meanwhile the jobs run on their schedules.
    let store = world.store.clone();
    let store = store.as_ref();
    let saved: Vec<BTreeMap<String, Contents>> = thread::scope(|scope| {
        let works = machines.iter().zip(0..).map(|(machine, number)| scope.spawn(move || save(machine, store, number)));
        let works: Vec<_> = works.collect();
        // One ingest dies in the middle of its work, and the store goes away for a while.
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut killed = false;
        while !killed && Instant::now() < deadline {
            killed = cloud.function("ingest").kill_one();
            thread::sleep(Duration::from_millis(5));
        }
        assert!(killed, "no ingest was caught at work");
        world.server.stop();
        thread::sleep(Duration::from_secs(1));
        world.server.restart();
        works.into_iter().map(|work| work.join().expect("a client ends well")).collect()
    });

    // What was dropped on the way is found, and everything is decided.
    until("everything is decided", || {
        let report = cloud.run("reconcile");
        (report.outcome == Outcome::Response(json!({ "accepted": 0, "rejected": 0, "refused": 0 }))).then_some(())
    });

    // A machine that was never there, with the passphrase and nothing else.
    let fresh = world.machine("fresh", PASSPHRASE, &world.address(), false);
    let listed: BTreeSet<String> = ids(&fresh.run(&["snapshots", "--all-clients", "--json"]).unwrap());
    for (machine, snapshots) in machines.iter().zip(&saved) {
        assert_eq!(snapshots.len(), 3);
        for (id, contents) in snapshots {
            assert!(listed.contains(id), "{id} is listed");
            let out = fresh.place(&format!("out-{id}"));
            fresh.run(&["restore", id, "--target", out.to_str().unwrap()]).unwrap();
            assert_same(contents, &restored(&out, &machine.files()));
            std::fs::remove_dir_all(out).unwrap();
        }
    }
    fresh.run(&["check", "--full"]).unwrap();

    // Once the grace period is over nothing lies there that nothing refers to.
    fresh.run(&["forget", saved[0].keys().next().unwrap()]).unwrap();
    for _ in 0..2 {
        world.age(Duration::from_secs(9 * 24 * 3600));
        thread::sleep(Duration::from_millis(2100));
        let report = cloud.run("prune");
        assert!(matches!(report.outcome, Outcome::Response(_)), "{report:?}");
    }
    assert_eq!(world.orphans(), BTreeSet::new());
    let report = cloud.run("check");
    assert!(matches!(&report.outcome, Outcome::Response(answer) if answer["ok"] == json!(true)), "{report:?}");
    fresh.run(&["check", "--full"]).unwrap();
}

/// Saves three versions of a machine's files; gives what each snapshot must hold. The first run of one machine is killed.
fn save(machine: &Machine, store: &S3Store, number: u64) -> BTreeMap<String, Contents> {
    let mut saved = BTreeMap::new();
    for round in 0..3 {
        machine.fill(number * 100 + round, 40 + 10 * round as usize);
        if number == 1 && round == 1 {
            kill_a_backup(machine, store);
        }
        let arguments = ["backup", "files", "--json"];
        // The store may be away for longer than a client is patient.
        let told = until("the backup is accepted", || machine.run(&arguments).ok());
        let told: Value = told.lines().filter_map(|line| serde_json::from_str(line).ok()).next_back().unwrap();
        let id = told["snapshot_id"].as_str().expect("a snapshot was made").to_owned();
        saved.insert(id, contents(&machine.files()));
    }
    saved
}

/// Kills a backup while it works: when it, or another one, has just stored a pack.
fn kill_a_backup(machine: &Machine, store: &S3Store) {
    let packs = || block_on(list_all(store, "packs/")).map_or(0, |listed| listed.len());
    let before = packs();
    let mut backup = machine.copal(&["backup", "files", "--quiet"]);
    let mut backup = backup.spawn().expect("the command starts");
    until("a pack is stored", || {
        let has_ended = backup.try_wait().expect("it is our process").is_some();
        (has_ended || packs() > before).then_some(())
    });
    // It may have come to its end.
    let _ = backup.kill();
    backup.wait().expect("it is our process");
}

struct World {
    server: Server,
    bucket: String,
    store: Arc<S3Store>,
    fingerprint: String,
}

impl World {
    /// A bucket with a repository that a service ingests.
    fn new() -> Self {
        let server = Server::start(Kind::Versity);
        let bucket = server.bucket();
        let store = Arc::new(server.store(&bucket, "team"));
        let mut world = Self { server, bucket, store, fingerprint: String::new() };
        let owner = world.machine("maker", PASSPHRASE, &world.address(), false);
        owner.run(&["init", "--ingest", "service"]).unwrap();
        let facts = block_on(read_facts(world.store.as_ref(), None)).unwrap().expect("the repository was made");
        world.fingerprint = facts.owner.to_string();
        world
    }

    /// The repository's address for who has access keys.
    fn address(&self) -> String {
        format!("s3://{}/team", self.bucket)
    }

    fn cloud(&self) -> Cloud {
        let mut variables = self.keys();
        variables.push(("COPAL_OWNER_FINGERPRINT".to_owned(), self.fingerprint.clone()));
        variables.push(("COPAL_OPEN_SLOTS".to_owned(), "true".to_owned()));
        let mut deployment = Deployment::new(&self.bucket, "team", variables);
        deployment.faults = Faults {
            seed: 11,
            dropped: 200,
            duplicated: 200,
            delayed: 200,
            delay: Duration::from_millis(500),
            reorders: true,
        };
        deployment.schedules = vec![
            ("reconcile", Duration::from_secs(2)),
            ("prune", Duration::from_secs(3)),
            ("check", Duration::from_secs(4)),
            ("compact", Duration::from_secs(5)),
        ];
        Cloud::start(&deployment, self.store.clone())
    }

    /// A machine that reaches the repository through the gateway, or with access keys.
    fn machine(&self, name: &str, passphrase: &str, repository: &str, is_behind_gateway: bool) -> Machine {
        let mut variables = if is_behind_gateway { Vec::new() } else { self.keys() };
        if !passphrase.is_empty() {
            variables.push(("COPAL_PASSWORD".to_owned(), passphrase.to_owned()));
        }
        Machine::new(name, repository, &variables)
    }

    /// A machine that joined with a line of the owner's.
    fn join(&self, owner: &Machine, name: &str, role: &str, gateway: &str) -> Machine {
        let passphrase = if role == "full" { PASSPHRASE } else { "" };
        let machine = self.machine(name, passphrase, gateway, true);
        let line = owner.run(&["client", "add", "--name", name, "--role", role, "--quiet"]).unwrap();
        std::fs::write(machine.place("line"), line).unwrap();
        machine.run(&["client", "join", "line"]).unwrap();
        machine
    }

    fn keys(&self) -> Vec<(String, String)> {
        self.server.environment().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Makes every object so much older, by the store's clock.
    fn age(&self, by: Duration) {
        let time = SystemTime::now() - by;
        let mut open = vec![self.server.files(&self.bucket)];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    open.push(entry.path());
                } else {
                    let file = std::fs::File::options().write(true).open(entry.path()).unwrap();
                    file.set_modified(time).unwrap();
                }
            }
        }
    }

    /// Packs and segments that the newest root does not name.
    fn orphans(&self) -> BTreeSet<String> {
        let state = block_on(view::read(self.store.as_ref())).expect("the state can be read").state;
        let packs = state.packs.iter().map(|(id, pack)| layout::pack(pack.place, *id));
        let segments = state.segments.keys().map(|(_, hash)| layout::segment(*hash));
        let named: BTreeSet<String> = packs.chain(segments).collect();
        assert!(!named.is_empty());
        let listed = ["packs/", "moved/", "index/"]
            .into_iter()
            .flat_map(|prefix| block_on(list_all(self.store.as_ref(), prefix)).expect("the store answers"));
        listed.map(|listed| listed.key.as_str().to_owned()).filter(|name| !named.contains(name)).collect()
    }
}

/// What was restored of a machine's files, wherever below the target they lie.
fn restored(out: &Path, files: &Path) -> Contents {
    let whole = out.join(files.strip_prefix("/").unwrap());
    contents(if whole.is_dir() { &whole } else { out })
}

fn assert_same(expected: &Contents, found: &Contents) {
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    for (path, content) in expected {
        assert!(found[path] == *content, "{} differs", path.display());
    }
}

fn ids(listing: &str) -> BTreeSet<String> {
    let rows: Vec<Value> = match serde_json::from_str(listing) {
        Ok(Value::Array(rows)) => rows,
        _ => listing.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
    };
    rows.iter().filter_map(|row| row["id"].as_str().map(str::to_owned)).collect()
}

/// Waits until something is so.
fn until<T>(what: &str, mut is_it: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(240);
    loop {
        if let Some(found) = is_it() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        thread::sleep(Duration::from_millis(100));
    }
}

const PASSPHRASE: &str = "correct horse battery staple";
