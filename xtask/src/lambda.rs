//! Lambda: the functions as AWS takes them: a zip with one program named `bootstrap`, for each processor.

use std::fmt;
use std::io::{BufRead, BufReader, ErrorKind};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command::{cargo, output, succeed, target, workspace};
use crate::environment::environment;
use crate::tally::Tally;
use crate::{elf, tools};

/// The functions' programs.
const FUNCTIONS: &[&str] = &["ingest", "compact", "prune", "check", "gateway"];
/// What a zip may have, so that a cold start loads little.
const ZIP_MOST: u64 = 6_000_000;

/// A processor that Lambda has.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Processor {
    Arm,
    Intel,
}

impl Processor {
    fn name(self) -> &'static str {
        match self {
            Processor::Arm => "aarch64",
            Processor::Intel => "x86_64",
        }
    }

    fn target(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Builds the zips for both processors and checks each: its size, and that its program is for that processor. The
/// program for the other processor than this machine's starts under qemu. Counts one test for every zip and for qemu.
pub(crate) fn run() -> Result<Tally, String> {
    tools::set_up_lambda()?;
    let programs = environment("cargo-lambda", &workspace().join("lambda/requirements.txt"))?;
    let mut tally = Tally::default();
    for processor in [Processor::Arm, Processor::Intel] {
        let folder = build(processor, &programs)?;
        for function in FUNCTIONS {
            let checked = check(processor, function, &folder);
            if let Err(reason) = &checked {
                println!("{function} for {processor}: {reason}");
            }
            tally += Tally::of(checked.is_ok());
        }
        if processor == Processor::Arm {
            let started = start_under_qemu(&folder.join("ingest/bootstrap"));
            println!(
                "ingest for {processor} under qemu: {}",
                started.as_ref().err().unwrap_or(&"asks for an invocation".into())
            );
            tally += Tally::of(started.is_ok());
        }
    }
    println!("{tally}");
    Ok(tally)
}

/// Builds the programs of all functions, stripped; gives the folder they lie in.
fn build(processor: Processor, programs: &Path) -> Result<PathBuf, String> {
    let folder = target().join("lambda").join(processor.name());
    let mut command = cargo(&["lambda", "build", "--package", "copal-lambda", "--profile", "release-lambda"]);
    command.args(["--target", &processor.target(), "--lambda-dir"]).arg(&folder);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path)));
    let started = Instant::now();
    // The linker is this environment's; what the suite says about warnings and WebAssembly is not meant for it.
    succeed(command.env("PATH", path.map_err(|error| error.to_string())?))?;
    println!("built for {processor} in {:.0} s", started.elapsed().as_secs_f64());
    Ok(folder)
}

/// Packs a function, and checks what AWS would refuse or what would make it slow.
fn check(processor: Processor, function: &str, folder: &Path) -> Result<(), String> {
    let program = folder.join(function).join("bootstrap");
    let bytes = std::fs::read(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    let machine = elf::machine(&bytes)?;
    if machine != processor.name() {
        return Err(format!("it is built for {machine}"));
    }
    let zip = folder.join(format!("{function}.zip"));
    pack(&program, &zip)?;
    let size = std::fs::metadata(&zip).map_err(|error| error.to_string())?.len();
    println!("{function:8} {machine:8} program {:>9} B, zip {size:>9} B  {}", bytes.len(), zip.display());
    if size > ZIP_MOST { Err(format!("its zip has {size} bytes, allowed are {ZIP_MOST}")) } else { Ok(()) }
}

/// A zip with this one program, always with the same bytes for the same program.
fn pack(program: &Path, zip: &Path) -> Result<(), String> {
    output(Command::new("python3").arg("-c").arg(PACK).arg(program).arg(zip)).map(drop)
}

/// Starts a program of the other processor and waits until it asks for its first invocation.
fn start_under_qemu(program: &Path) -> Result<(), String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    listener.set_nonblocking(true).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let mut command = Command::new("qemu-aarch64-static");
    command.args(["-L", "/usr/aarch64-linux-gnu"]).arg(program).env_clear().stdin(Stdio::null());
    let mut child = command.envs(variables(&address.to_string())).spawn().map_err(|error| error.to_string())?;
    let until = Instant::now() + PATIENCE;
    let asked = loop {
        match listener.accept() {
            Ok((connection, _)) => {
                let mut line = String::new();
                let ready = connection.set_nonblocking(false);
                let read = ready.and_then(|()| BufReader::new(connection).read_line(&mut line));
                break read.map_err(|error| error.to_string()).map(|_| line);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < until => {
                if let Ok(Some(status)) = child.try_wait() {
                    break Err(format!("it ended: {status}"));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => break Err(format!("it asked for nothing: {error}")),
        }
    };
    // It has no end of its own.
    let _ = child.kill().and_then(|()| child.wait());
    match asked?.as_str() {
        line if line.starts_with("GET /2018-06-01/runtime/invocation/next ") => Ok(()),
        line => Err(format!("it asked for {line:?}")),
    }
}

/// What Lambda sets, and what the function needs to start.
fn variables(address: &str) -> Vec<(&'static str, String)> {
    let set = |name, value: &str| (name, value.to_owned());
    vec![
        set("AWS_LAMBDA_RUNTIME_API", address),
        set("AWS_LAMBDA_FUNCTION_NAME", "ingest"),
        set("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
        set("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1769"),
        set("AWS_REGION", "us-east-1"),
        set("AWS_ACCESS_KEY_ID", "none"),
        set("AWS_SECRET_ACCESS_KEY", "none"),
        set("COPAL_BUCKET", "none"),
        ("COPAL_OWNER_FINGERPRINT", "00".repeat(32)),
    ]
}

const PATIENCE: Duration = Duration::from_secs(60);
const PACK: &str = "
import sys, zipfile
program, target = sys.argv[1:]
entry = zipfile.ZipInfo('bootstrap', (1980, 1, 1, 0, 0, 0))
entry.external_attr, entry.create_system = 0o755 << 16, 3
with open(program, 'rb') as source, zipfile.ZipFile(target, 'w') as archive:
    archive.writestr(entry, source.read(), zipfile.ZIP_DEFLATED, 9)
";
