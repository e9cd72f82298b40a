//! How much longer the command takes where every request to a bucket takes a round trip:
//! `far_bucket COPAL MILLISECONDS DIRECTORY [ROUNDS]`. A versitygw of its own stands behind a proxy, which is there without
//! the latency as well. Each round is a first backup, an unchanged one and a restore, near and far by turns; medians.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use copal_tests::kit::s3::{Kind, Proxy, Server};
use tempfile::TempDir;

const ACTS: [&str; 3] = ["first backup", "unchanged", "restore"];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (copal, milliseconds, source, rounds) = match arguments.as_slice() {
        [copal, milliseconds, source] => (copal, milliseconds, source, 3),
        [copal, milliseconds, source, rounds] => (copal, milliseconds, source, rounds.parse()?),
        _ => return Err("usage: far_bucket COPAL MILLISECONDS DIRECTORY [ROUNDS]".into()),
    };
    let latency = Duration::from_millis(milliseconds.parse()?);
    let server = Server::start(Kind::Versity);
    let mut taken: [[Vec<Duration>; 2]; 3] = Default::default();
    let mut requests = [[0; 2]; 3];
    for _ in 0..rounds {
        for (way, latency) in [Duration::ZERO, latency].into_iter().enumerate() {
            let proxy = Proxy::slow(server.address(), latency);
            let machine = Machine::new(&server, &proxy, copal)?;
            machine.run(&["init"])?;
            for (act, name) in ACTS.iter().enumerate() {
                let out = machine.path("out");
                let (before, started) = (proxy.requests(), Instant::now());
                match *name {
                    "restore" => machine.run(&["restore", "latest", "--target", out.to_str().ok_or("UTF-8")?])?,
                    _ => machine.run(&["backup", source])?,
                }
                taken[act][way].push(started.elapsed());
                requests[act][way] = proxy.requests() - before;
            }
        }
    }
    println!("| act | near, s | with {milliseconds} ms, s | ratio | requests |\n|---|---|---|---|---|");
    for (act, name) in ACTS.iter().enumerate() {
        let [near, far] = [0, 1].map(|way| median(&mut taken[act][way]).as_secs_f64());
        println!("| {name} | {near:.2} | {far:.2} | {:.2} | {} |", far / near, requests[act][1]);
    }
    println!("load of the machine: {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    Ok(())
}

fn median(taken: &mut [Duration]) -> Duration {
    taken.sort_unstable();
    taken[taken.len() / 2]
}

/// A machine with a new repository, its state and cache in a directory of their own.
struct Machine {
    place: TempDir,
    copal: PathBuf,
    environment: Vec<(&'static str, String)>,
}

impl Machine {
    fn new(server: &Server, proxy: &Proxy, copal: &str) -> Result<Machine, Box<dyn Error>> {
        let place = tempfile::tempdir()?;
        let mut environment: Vec<(&str, String)> = server.environment().into();
        environment.push(("AWS_ENDPOINT_URL_S3", proxy.endpoint()));
        environment.push(("COPAL_REPOSITORY", format!("s3://{}/far", server.bucket())));
        environment.push(("COPAL_PASSWORD", "measured".to_owned()));
        Ok(Machine { place, copal: Path::new(copal).canonicalize()?, environment })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
        let mut command = Command::new(&self.copal);
        command.args(arguments).current_dir(self.place.path()).envs(self.environment.iter().cloned());
        command.env("HOME", self.place.path());
        command.env("COPAL_CACHE_DIR", self.path("cache")).env("COPAL_STATE_DIR", self.path("state"));
        let done = command.stdin(Stdio::null()).output()?;
        if !done.status.success() {
            return Err(format!("copal {arguments:?}: {}", String::from_utf8_lossy(&done.stderr)).into());
        }
        Ok(())
    }
}
