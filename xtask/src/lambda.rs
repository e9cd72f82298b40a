//! Lambda: the functions as AWS takes them: for each processor a zip with one program named `bootstrap`, which is all of
//! them.

use std::fmt;
use std::io::{BufRead, BufReader, ErrorKind};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command::{cargo, count, output, succeed, target, workspace};
use crate::environment::environment;
use crate::tally::Tally;
use crate::tools;

/// What a zip may have, so that a cold start loads little.
const ZIP_MOST: u64 = 6_000_000;

/// A processor that Lambda has.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Processor {
    Intel,
    Arm,
}

impl Processor {
    const ALL: [Processor; 2] = [Processor::Intel, Processor::Arm];

    fn name(self) -> &'static str {
        match self {
            Processor::Intel => "x86_64",
            Processor::Arm => "aarch64",
        }
    }

    fn target(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    /// The folder of its program and zip.
    fn folder(self) -> PathBuf {
        target().join("lambda").join(self.name())
    }

    fn is_here(self) -> bool {
        self.name() == std::env::consts::ARCH
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A zip that was built, and the program that was unpacked from it.
struct Built {
    processor: Processor,
    folder: PathBuf,
    program: PathBuf,
}

/// Builds the zips for both processors and checks each: its size, that its program is for that processor, that it starts,
/// and that it does what the functions must, in a real bucket. The one for another processor than this machine's runs
/// under qemu, where one test must do.
pub(crate) fn run() -> Result<Tally, String> {
    tools::set_up()?;
    tools::set_up_lambda()?;
    tools::set_up_emulator()?;
    build()?;
    check()
}

/// Builds the programs for both processors, one after another: linking each takes minutes on one core. The tools must be
/// there.
pub(crate) fn build() -> Result<(), String> {
    let programs = programs()?;
    Processor::ALL.into_iter().try_for_each(|processor| build_for(processor, &programs))
}

/// Builds and packs the functions for arm64, which is what `infra/` deploys; gives the zip.
pub(crate) fn packed() -> Result<PathBuf, String> {
    let programs = programs()?;
    build_for(Processor::Arm, &programs)?;
    let folder = Processor::Arm.folder();
    println!("{}", zip(Processor::Arm, &folder, &programs)?);
    Ok(folder.join(format!("{PROGRAM}.zip")))
}

/// Does all that [`run`] does with the programs, once they are built.
pub(crate) fn check() -> Result<Tally, String> {
    let (mut tally, built) = zips(&programs()?);
    for built in &built {
        let runner = built.runner()?;
        tally += told(&format!("start for {}", built.processor), start(&runner));
        // The suite's own programs: another choice of packages would build all that they need once more.
        let mut test = cargo(&["test", "--workspace", "--all-features", "--test", "cloud"]);
        let tests = if built.processor.is_here() { "lambda_runtime" } else { "lambda_runtime::a_manifest_is_decided" };
        tally += count(test.arg(tests).env(PROGRAM_VARIABLE, runner).env("COPAL_TOOLS", target().join("tools")))?;
    }
    Ok(tally)
}

/// Where the tests look for the program of the functions, instead of what cargo has built for itself.
const PROGRAM_VARIABLE: &str = "COPAL_FUNCTIONS";

/// The folder of programs that build and pack.
fn programs() -> Result<PathBuf, String> {
    environment("cargo-lambda", &workspace().join("lambda/requirements.txt"))
}

/// Packs and checks both zips; gives those that passed.
fn zips(programs: &Path) -> (Tally, Vec<Built>) {
    let (mut tally, mut all) = (Tally::default(), Vec::new());
    for processor in Processor::ALL {
        let folder = processor.folder();
        let checked = zip(processor, &folder, programs);
        let is_sound = checked.is_ok();
        tally += told(&format!("zip for {processor}"), checked);
        if is_sound {
            let program = folder.join(UNPACKED).join("bootstrap");
            all.push(Built { processor, folder, program });
        }
    }
    (tally, all)
}

/// One check, with what it found.
fn told(what: &str, checked: Result<String, String>) -> Tally {
    match &checked {
        Ok(found) => println!("ok     {what}: {found}"),
        Err(reason) => println!("FAILED {what}: {reason}"),
    }
    Tally::of(checked.is_ok())
}

/// Builds the program, stripped.
fn build_for(processor: Processor, programs: &Path) -> Result<(), String> {
    let mut command = cargo(&["lambda", "build", "--package", "copal-lambda", "--profile", "release-lambda"]);
    command.args(["--target", &processor.target(), "--lambda-dir"]).arg(processor.folder());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path)));
    let started = Instant::now();
    // The linker is this environment's; what the suite says about warnings and WebAssembly is not meant for it.
    succeed(command.env("PATH", path.map_err(|error| error.to_string())?))?;
    println!("built for {processor} in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Packs the program, checks what AWS would refuse or what would make a start slow, and unpacks it as AWS does.
fn zip(processor: Processor, folder: &Path, programs: &Path) -> Result<String, String> {
    let program = folder.join(PROGRAM).join("bootstrap");
    let zip = folder.join(format!("{PROGRAM}.zip"));
    pack(&program, &zip, programs)?;
    let size = std::fs::metadata(&zip).map_err(|error| error.to_string())?.len();
    if size > ZIP_MOST {
        return Err(format!("it has {size} bytes, allowed are {ZIP_MOST}"));
    }
    succeed(Command::new("unzip").args(["-o", "-q"]).arg(&zip).arg("-d").arg(folder.join(UNPACKED)))?;
    let unpacked = folder.join(UNPACKED).join("bootstrap");
    let bytes = std::fs::read(&unpacked).map_err(|error| format!("{}: {error}", unpacked.display()))?;
    let machine = machine(&bytes)?;
    if machine != processor.name() {
        return Err(format!("it is built for {machine}"));
    }
    Ok(format!("{size} bytes, its program {}: {}", bytes.len(), zip.display()))
}

/// The processor that the header of a program names.
fn machine(program: &[u8]) -> Result<&'static str, String> {
    let header: &[u8; 20] = program.first_chunk().ok_or("too short for a program")?;
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Err("not a little-endian ELF program of 64 bits".to_owned());
    }
    match u16::from_le_bytes([header[18], header[19]]) {
        62 => Ok("x86_64"),
        183 => Ok("aarch64"),
        other => Err(format!("a program for the unknown machine {other}")),
    }
}

/// A zip with this one program, always with the same bytes for the same program.
fn pack(program: &Path, zip: &Path, programs: &Path) -> Result<(), String> {
    output(Command::new(programs.join("python")).arg("-c").arg(PACK).arg(program).arg(zip)).map(drop)
}

impl Built {
    /// What runs the program: itself, or where it is for another processor a script that has qemu do it.
    fn runner(&self) -> Result<PathBuf, String> {
        if self.processor.is_here() {
            return Ok(self.program.clone());
        }
        let (name, program) = (self.processor.name(), self.program.display());
        let script = self.folder.join("under-qemu");
        let text = format!("#!/bin/sh\nexec qemu-{name}-static -L /usr/{name}-linux-gnu '{program}'\n");
        let written = std::fs::write(&script, text)
            .and_then(|()| std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)));
        written.map_err(|error| format!("{}: {error}", script.display()))?;
        Ok(script)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_stands_in_the_header() {
        let header = |machine: u8| [b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0", &[machine, 0][..]].concat();
        assert_eq!(machine(&header(62)), Ok("x86_64"));
        assert_eq!(machine(&header(183)), Ok("aarch64"));
        assert!(machine(&header(3)).is_err());
        assert!(machine(b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x03\0").is_err() && machine(b"\x7fELF").is_err());
    }
}
