//! Cold start: from the start of a function's process to its first question for an invocation. Measures the program that
//! `cargo xtask lambda` has built for this machine's processor.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let mut is_fast = true;
    let program = folder().join("copal-lambda/bootstrap");
    for function in FUNCTIONS {
        match median(&program, function) {
            Ok(median) => {
                println!("cold start of {function:8} {:6.1} ms (median of {RUNS})", median.as_secs_f64() * 1000.0);
                is_fast &= median < BAR;
            }
            Err(error) => {
                eprintln!("{}: {error}; `cargo xtask lambda` builds it", program.display());
                return ExitCode::FAILURE;
            }
        }
    }
    if !is_fast {
        eprintln!("a cold start took longer than {BAR:?}");
    }
    if is_fast { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn median(program: &Path, function: &str) -> std::io::Result<Duration> {
    let mut times = (0..RUNS).map(|_| cold_start(program, function)).collect::<Result<Vec<_>, _>>()?;
    times.sort();
    Ok(times[RUNS / 2])
}

fn cold_start(program: &Path, function: &str) -> std::io::Result<Duration> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let started = Instant::now();
    let child = Ended(start(program, function, &listener.local_addr()?.to_string())?);
    let (asked, question) = mpsc::channel();
    // A program that ends without a question leaves this thread behind, and the measurement fails.
    std::thread::spawn(move || asked.send(listener.accept().and_then(|(connection, _)| is_question(&connection))));
    let is_question = question.recv_timeout(PATIENCE).map_err(|_| std::io::Error::other("it asked for nothing"))??;
    let took = started.elapsed();
    drop(child);
    if is_question { Ok(took) } else { Err(std::io::Error::other("it asked for something else than an invocation")) }
}

fn is_question(connection: &TcpStream) -> std::io::Result<bool> {
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line)?;
    Ok(line.starts_with("GET /2018-06-01/runtime/invocation/next "))
}

fn start(program: &Path, function: &str, address: &str) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null());
    command.env("COPAL_OWNER_FINGERPRINT", "00".repeat(32)).env("COPAL_BUCKET", "none").envs([
        ("_HANDLER", function),
        ("AWS_LAMBDA_RUNTIME_API", address),
        ("AWS_LAMBDA_FUNCTION_NAME", "copal"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1769"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "none"),
        ("AWS_SECRET_ACCESS_KEY", "none"),
    ]);
    command.spawn()
}

/// A process that is killed when it is not needed any more.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Where `cargo xtask lambda` puts the programs.
fn folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    workspace.join(target).join("lambda").join(std::env::consts::ARCH)
}

const FUNCTIONS: [&str; 5] = ["ingest", "compact", "prune", "check", "gateway"];
const RUNS: usize = 21;
const PATIENCE: Duration = Duration::from_secs(30);
const BAR: Duration = Duration::from_millis(100);
