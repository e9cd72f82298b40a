//! Lambda: the functions as AWS takes them: a zip for arm64 with one program named `bootstrap`, which is all of them.

use std::io::{BufRead, BufReader, ErrorKind};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command::{before_path, cargo, count, linting, output, succeed, target, workspace};
use crate::environment::environment;
use crate::tally::Tally;
use crate::{files, tools};

/// What the zip may have, so that a cold start loads little.
const ZIP_MOST: u64 = 6_000_000;

/// Builds the zip and checks it: its size, that its program starts, and that it does what the functions must, in a real
/// bucket. On a machine with another processor it runs under qemu.
pub(crate) fn run() -> Result<Tally, String> {
    tools::set_up()?;
    tools::set_up_lambda()?;
    tools::set_up_emulator()?;
    build()?;
    check()
}

/// Builds the program, stripped. The tools must be there.
fn build() -> Result<(), String> {
    let programs = programs()?;
    let mut command = cargo(&["lambda", "build", "--package", "copal-lambda", "--profile", "release-lambda"]);
    command.args(["--target", TARGET, "--lambda-dir"]).arg(folder());
    let started = Instant::now();
    // The linker is this environment's; what the suite says about warnings and WebAssembly is not meant for it.
    succeed(command.env("PATH", before_path([programs])?))?;
    println!("built in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Builds and packs the functions; gives the zip.
pub(crate) fn packed() -> Result<PathBuf, String> {
    build()?;
    println!("{}", zip()?);
    Ok(folder().join(format!("{PROGRAM}.zip")))
}

/// Does all that [`run`] does with the program, once it is built.
fn check() -> Result<Tally, String> {
    let mut tally = told("zip", zip());
    if tally.failed > 0 {
        // The unpacked program is that of an earlier zip.
        return Ok(tally);
    }
    let runner = runner()?;
    tally += told("start", start(&runner));
    // The suite's own programs: another choice of packages would build all that they need once more.
    let mut test = linting(&["test", "--workspace", "--all-features", "--test", "cloud"]);
    test.arg("lambda_runtime").env(PROGRAM_VARIABLE, runner).env("COPAL_TOOLS", target().join("tools"));
    tally += count(&mut test)?.not_empty()?;
    Ok(tally)
}

/// One check, with what it found.
fn told(what: &str, checked: Result<String, String>) -> Tally {
    match &checked {
        Ok(found) => println!("ok     {what}: {found}"),
        Err(reason) => println!("FAILED {what}: {reason}"),
    }
    Tally::of(checked.is_ok())
}

/// The folder of programs that build and pack.
fn programs() -> Result<PathBuf, String> {
    environment("cargo-lambda", &workspace().join("lambda/requirements.txt"))
}

/// The folder of the program and the zip.
fn folder() -> PathBuf {
    target().join("lambda").join(PROCESSOR)
}

/// Packs the program, always into the same bytes, checks what would make a start slow, and unpacks it as AWS does.
fn zip() -> Result<String, String> {
    let program = folder().join(PROGRAM).join("bootstrap");
    let zip = folder().join(format!("{PROGRAM}.zip"));
    output(Command::new(programs()?.join("python")).arg("-c").arg(PACK).arg(program).arg(&zip))?;
    let size = files::size(&zip)?;
    if size > ZIP_MOST {
        return Err(format!("it has {size} bytes, allowed are {ZIP_MOST}"));
    }
    succeed(Command::new("unzip").args(["-o", "-q"]).arg(&zip).arg("-d").arg(folder().join(UNPACKED)))?;
    Ok(format!("{size} bytes: {}", zip.display()))
}

/// Returns what runs the unpacked program: the program itself, or a script that starts it under qemu. Qemu for arm64 refuses
/// a program for another processor.
fn runner() -> Result<PathBuf, String> {
    let program = folder().join(UNPACKED).join("bootstrap");
    if std::env::consts::ARCH == PROCESSOR {
        return Ok(program);
    }
    let script = folder().join("under-qemu");
    let text =
        format!("#!/bin/sh\nexec qemu-{PROCESSOR}-static -L /usr/{PROCESSOR}-linux-gnu '{}'\n", program.display());
    files::write(&script, text)?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).map_err(files::failed(&script))?;
    Ok(script)
}

/// Starts a program and waits until it asks for its first invocation.
fn start(runner: &Path) -> Result<String, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    listener.set_nonblocking(true).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let mut command = Command::new(runner);
    command.env_clear().envs(variables(&address.to_string())).stdin(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", runner.display()))?;
    let until = started + PATIENCE;
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
    let took = started.elapsed();
    // It has no end of its own.
    let _ = child.kill().and_then(|()| child.wait());
    match asked?.as_str() {
        line if line.starts_with("GET /2018-06-01/runtime/invocation/next ") => {
            Ok(format!("it asks for an invocation after {took:.1?}"))
        }
        line => Err(format!("it asked for {line:?}")),
    }
}

/// What Lambda sets, and what the function needs to start.
fn variables(address: &str) -> Vec<(&'static str, String)> {
    let set = |name, value: &str| (name, value.to_owned());
    vec![
        set("_HANDLER", "ingest"),
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

/// Names the program that the tests start in place of the one that cargo has built.
const PROGRAM_VARIABLE: &str = "COPAL_FUNCTIONS";
/// The processor that `infra/` asks for.
const PROCESSOR: &str = "aarch64";
const TARGET: &str = "aarch64-unknown-linux-gnu";
/// The program's name where cargo-lambda puts it.
const PROGRAM: &str = "copal-lambda";
/// The folder that a zip is unpacked into.
const UNPACKED: &str = "unpacked";
const PATIENCE: Duration = Duration::from_secs(60);
/// Writes a zip with one file: libdeflate packs better than any level of zlib, and the limit is near.
const PACK: &str = "
import struct, sys, zlib, deflate
program, target = sys.argv[1:]
name = b'bootstrap'
with open(program, 'rb') as source:
    plain = source.read()
packed = deflate.deflate_compress(plain, 12)
both = struct.pack('<HHHHHIIIHH', 20, 0, 8, 0, 0x21, zlib.crc32(plain), len(packed), len(plain), len(name), 0)
first = b'PK\\x03\\x04' + both + name
central = b'PK\\x01\\x02' + struct.pack('<H', 3 << 8 | 20) + both
central += struct.pack('<HHHII', 0, 0, 0, 0o100755 << 16, 0) + name
end = b'PK\\x05\\x06' + struct.pack('<HHHHIIH', 0, 0, 1, 1, len(central), len(first) + len(packed), 0)
with open(target, 'wb') as archive:
    archive.write(first + packed + central + end)
";
