//! Soak: fifty machines that save into the local stand-in of AWS while its S3 fails at half of all requests and every
//! process is killed now and then. At the end everything that was accepted is restored and compared.
//! `cargo xtask soak [MINUTES]` builds and starts it; it ends with 1 if anything is lost or a job never ends.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use copal_tests::kit::Random;
use copal_tests::kit::lambda::team::{Contents, PASSPHRASE, restored};
use copal_tests::kit::lambda::{Cloud, Faults, Outcome, Team};
use copal_tests::kit::machine::{Machine, contents};
use copal_tests::kit::s3::{Fate, Proxy, Seen};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// What is expected of a snapshot: of each path the hash of its content.
type Expected = BTreeMap<PathBuf, Option<[u8; 32]>>;

/// The snapshots of a machine that were accepted, in their order.
type Saved = Vec<(String, Expected)>;

fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let minutes = arguments.first().copied().unwrap_or(60);
    let seed = arguments.get(1).copied().unwrap_or(1);
    println!("{MACHINES} machines for {minutes} minutes, seed {seed}");

    let mut team = Team::start();
    let (is_calm, failed) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
    let proxy = Proxy::start(team.server.address(), LATENCY, script(seed, is_calm.clone(), failed.clone()));
    let cloud = team.cloud(|deployment| {
        deployment.variables.push(("AWS_ENDPOINT_URL_S3".to_owned(), proxy.endpoint()));
        let (delay, reorders) = (Duration::from_secs(2), true);
        deployment.faults = Faults { seed, dropped: 100, duplicated: 200, delayed: 200, delay, reorders };
        (deployment.gateways, deployment.timeout) = (MACHINES, TIMEOUT);
        deployment.schedules = SCHEDULES.map(|(job, seconds)| (job, Duration::from_secs(seconds))).to_vec();
    });
    let gateway = cloud.gateway();
    let owner = team.machine("owner", PASSPHRASE, &gateway, true);
    let policy = format!("keep-last = {KEPT}\ntimezone = \"\"\ngrace = \"60s\"\ncheck-share = \"1/4\"\n");
    std::fs::write(owner.place("policy.toml"), policy).expect("a file for the policy");
    owner.run(&["policy", "set", "policy.toml"]).expect("the policy is set");
    let role = |number: usize| if number.is_multiple_of(2) { "write-only" } else { "full" };
    let machines: Vec<Machine> =
        (0..MACHINES).map(|number| team.join(&owner, &format!("m{number}"), role(number), &gateway)).collect();

    is_calm.store(false, Ordering::Relaxed);
    let tally = Tally::default();
    let deadline = Instant::now() + Duration::from_secs(60 * minutes);
    let saved: Vec<Saved> = thread::scope(|scope| {
        let works = machines.iter().zip(0..);
        let works = works.map(|(machine, number)| {
            scope.spawn({
                let tally = &tally;
                move || save(machine, seed * 1000 + number, deadline, tally)
            })
        });
        let works: Vec<_> = works.collect();
        harass(&mut team, &cloud, seed, deadline, &tally);
        is_calm.store(true, Ordering::Relaxed);
        works.into_iter().map(|work| work.join().expect("a machine's thread ends well")).collect()
    });

    println!("{}", tally.told(failed.load(Ordering::Relaxed), proxy.requests()));
    let mut problems = end(&cloud);
    problems.extend(compare(&team, &machines, &saved));
    for problem in &problems {
        println!("PROBLEM {problem}");
    }
    println!("{} problems", problems.len());
    drop(cloud);
    std::process::exit(i32::from(!problems.is_empty()));
}

/// A fifth of all requests is refused, of three tenths the answer is lost, some answers end too soon.
fn script(seed: u64, is_calm: Arc<AtomicBool>, failed: Arc<AtomicU64>) -> impl FnMut(&Seen) -> Fate + Send + 'static {
    let mut random = Random::new(seed);
    move |_| {
        let fate = match random.below(1000) {
            _ if is_calm.load(Ordering::Relaxed) => return Fate::Pass,
            0..200 => Fate::SlowDown,
            200..500 => Fate::LoseAnswer,
            500..550 => Fate::Cut(1 + random.below(3000)),
            _ => return Fate::Pass,
        };
        failed.fetch_add(1, Ordering::Relaxed);
        fate
    }
}

/// What happened.
#[derive(Default)]
struct Tally {
    accepted: AtomicU64,
    given_up: AtomicU64,
    killed: AtomicU64,
    functions_killed: AtomicU64,
    stops: AtomicU64,
    reasons: Mutex<BTreeMap<String, u64>>,
}

impl Tally {
    fn told(&self, failed: u64, requests: u64) -> String {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut told = format!(
            "{} backups accepted, {} given up, {} killed; {} functions killed, {} times no server; {failed} of {requests} requests failed",
            of(&self.accepted),
            of(&self.given_up),
            of(&self.killed),
            of(&self.functions_killed),
            of(&self.stops)
        );
        for (why, count) in self.reasons.lock().expect("nobody panics with it").iter() {
            told += &format!("\n  {count} x {why}");
        }
        told
    }
}

/// Saves a machine's files again and again, as they change. Gives what was accepted.
fn save(machine: &Machine, seed: u64, deadline: Instant, tally: &Tally) -> Saved {
    let mut random = Random::new(seed);
    let mut saved = Saved::new();
    for round in 0.. {
        machine.fill(seed * 1000 + round % 7, 5 + random.below(12));
        if random.chance(250) {
            let mut backup = machine.copal(&["backup", "files", "--quiet"]).spawn().expect("the command starts");
            thread::sleep(Duration::from_millis(random.below(8000) as u64));
            let has_ended = backup.try_wait().expect("it is our process").is_some();
            let _ = backup.kill();
            let _ = backup.wait();
            tally.killed.fetch_add(u64::from(!has_ended), Ordering::Relaxed);
        }
        while Instant::now() < deadline {
            match machine.run(&["backup", "files", "--json"]) {
                Ok(told) => {
                    let last = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).next_back();
                    let id = last.and_then(|last| Some(last["snapshot_id"].as_str()?.to_owned()));
                    saved.push((id.expect("a snapshot was made"), hashed(contents(&machine.files()))));
                    tally.accepted.fetch_add(1, Ordering::Relaxed);
                    break;
                }
                Err(why) => {
                    tally.given_up.fetch_add(1, Ordering::Relaxed);
                    let said = why.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).next_back();
                    let why = said.and_then(|said| Some(said["error"].as_str()?.to_owned())).unwrap_or(why);
                    *tally.reasons.lock().expect("nobody panics with it").entry(why).or_default() += 1;
                }
            }
        }
        if Instant::now() >= deadline {
            break;
        }
        thread::sleep(Duration::from_millis(random.below(PAUSE) as u64));
    }
    saved
}

/// Kills functions at work, and ends the server for some seconds now and then.
fn harass(team: &mut Team, cloud: &Cloud, seed: u64, deadline: Instant, tally: &Tally) {
    let mut random = Random::new(seed ^ 0xdead);
    let mut told = Instant::now();
    while Instant::now() < deadline {
        if told.elapsed() > Duration::from_secs(60) {
            told = Instant::now();
            println!("{} backups accepted", tally.accepted.load(Ordering::Relaxed));
        }
        thread::sleep(Duration::from_millis(1000 + random.below(2 * BETWEEN_KILLS) as u64));
        let name = *random.pick(&["ingest", "ingest", "gateway", "prune", "check", "compact"]);
        tally.functions_killed.fetch_add(u64::from(cloud.function(name).kill_one()), Ordering::Relaxed);
        if random.chance(50) {
            team.server.stop();
            thread::sleep(Duration::from_secs(3));
            team.server.restart();
            tally.stops.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// With a store that answers, everything is decided, and each job comes to the end of its round.
fn end(cloud: &Cloud) -> Vec<String> {
    let mut problems = Vec::new();
    let mut comes_to_an_end = |job: &str, is_done: &dyn Fn(&Value) -> bool| {
        let began = Instant::now();
        for runs in 1..=50 {
            match cloud.run(job) {
                Outcome::Response(answer) if is_done(&answer) => {
                    return println!("{job}: {runs} runs, {:.1} s: {answer}", began.elapsed().as_secs_f64());
                }
                Outcome::Response(_) => {}
                outcome => println!("{job}: {outcome:?}"),
            }
        }
        problems.push(format!("{job} does not come to its end"));
    };
    let decided = json!({ "accepted": 0, "rejected": 0, "refused": 0 });
    comes_to_an_end("reconcile", &|answer| *answer == decided);
    comes_to_an_end("prune", &|answer| answer["is_unfinished"] == json!(false));
    comes_to_an_end("compact", &|_| true);
    comes_to_an_end("check", &|answer| answer["ok"] == json!(true) && answer["packs_left"] == json!(0));
    problems
}

/// Restores every accepted snapshot that is listed, on a machine that was never there. Of those that are not listed, at
/// least as many as do not expire must be newer.
fn compare(team: &Team, machines: &[Machine], saved: &[Saved]) -> Vec<String> {
    let mut problems = Vec::new();
    let fresh = team.machine("fresh", PASSPHRASE, &team.address(), false);
    if let Err(why) = fresh.run(&["check", "--full"]) {
        problems.push(why);
    }
    let listed = match fresh.run(&["snapshots", "--json"]) {
        Ok(text) => serde_json::from_str::<Value>(&text).unwrap_or_default(),
        Err(why) => {
            problems.push(why);
            return problems;
        }
    };
    let rows: Vec<&Value> = listed.as_array().into_iter().flatten().collect();
    let (mut compared, mut expired) = (0, 0);
    for (number, (machine, saved)) in machines.iter().zip(saved).enumerate() {
        let name = format!("m{number}");
        let own = rows.iter().filter(|row| row["client_name"] == name.as_str());
        let own: BTreeSet<&str> = own.filter_map(|row| row["id"].as_str()).collect();
        if saved.is_empty() || own.len() < saved.len().min(KEPT) {
            problems.push(format!("{name}: {} of {} are listed", own.len(), saved.len()));
        }
        for (at, (id, expected)) in saved.iter().enumerate() {
            if !own.contains(id.as_str()) {
                let older: BTreeSet<&str> = saved[..at].iter().map(|(id, _)| id.as_str()).collect();
                expired += 1;
                if own.difference(&older).count() < KEPT {
                    problems.push(format!("{name}: {id} is gone, {at} of {}", saved.len()));
                }
                continue;
            }
            let out = fresh.place("out");
            match fresh.run(&["restore", id, "--target", "out"]) {
                Ok(_) if hashed(restored(&out, &machine.files())) == *expected => compared += 1,
                Ok(_) => problems.push(format!("{name}: {id} is not what was saved")),
                Err(why) => problems.push(why),
            }
            // It may not be there.
            let _ = std::fs::remove_dir_all(&out);
        }
    }
    println!("{} snapshots listed, {compared} restored and compared, {expired} expired", rows.len());
    problems
}

fn hashed(contents: Contents) -> Expected {
    contents.into_iter().map(|(path, bytes)| (path, bytes.map(|bytes| Sha256::digest(bytes).into()))).collect()
}

const MACHINES: usize = 50;
/// Snapshots of a machine that do not expire.
const KEPT: usize = 4;
/// Milliseconds between two backups of a machine, at most.
const PAUSE: usize = 60_000;
/// Milliseconds between two kills of functions, in the mean.
const BETWEEN_KILLS: usize = 20_000;
/// As the functions have in AWS.
const TIMEOUT: Duration = Duration::from_secs(900);
const LATENCY: Duration = Duration::from_millis(5);
const SCHEDULES: [(&str, u64); 4] = [("reconcile", 15), ("prune", 40), ("check", 40), ("compact", 60)];
