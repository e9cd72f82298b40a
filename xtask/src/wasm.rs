//! WebAssembly: the three modules that browsers load. They are made, run in Node against the golden repository and the command,
//! and held to the golden session in every host.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{build_programs, cargo, output, succeed, target, workspace};
use crate::environment::environment;
use crate::files;
use crate::module::Module;
use crate::tally::Tally;

/// One of the modules that browsers load.
struct Loaded {
    /// The name of its files in the package.
    name: &'static str,
    /// The feature of the crate that has what it exports.
    feature: &'static str,
    /// How many bytes it may have when compressed by brotli.
    bytes_max: u64,
}

/// The module that every browser loads when it opens the page, the one that it loads when a backup begins, and the one for
/// decisions about the repository itself, which few people make.
const LOADED: [Loaded; 3] = [
    // Each what it has (docs/benchmarks.md) and 3 % more.
    Loaded { name: "copal", feature: "page", bytes_max: 308_000 },
    Loaded { name: "sealing", feature: "sealing", bytes_max: 90_000 },
    Loaded { name: "administration", feature: "administration", bytes_max: 193_000 },
];

impl Loaded {
    /// Its file.
    fn path(&self) -> PathBuf {
        package().join(format!("{}_bg.wasm", self.name))
    }

    fn build(&self) -> Result<(), String> {
        let module = module("copal_wasm.wasm", &["--lib", "--no-default-features", "--features", self.feature])?;
        succeed(Command::new(target().join("debug/copal-wasm-bindgen")).arg(module).arg(package()).arg(self.name))
    }

    /// How many bytes of it a browser loads.
    fn size(&self) -> Result<u64, String> {
        let told = output(node("size.mjs").arg(self.path()))?;
        told.trim().parse().map_err(|error| format!("size.mjs: {error}"))
    }

    /// What it wants of its host besides what its own JavaScript gives it.
    fn foreign_imports(&self) -> Result<Vec<String>, String> {
        let bytes = files::read(&self.path())?;
        let own = format!("./{}_bg.js.", self.name);
        Ok(Module::parse(&bytes)?.imports.into_iter().filter(|import| !import.starts_with(&own)).collect())
    }
}

/// Where the modules, their JavaScript and their types are: what `web-demo` imports.
pub(crate) fn package() -> PathBuf {
    workspace().join("wasm/pkg")
}

/// The first module that is missing in the package.
pub(crate) fn missing() -> Option<PathBuf> {
    LOADED.iter().map(Loaded::path).find(|path| !path.is_file())
}

/// Makes the package.
pub(crate) fn build() -> Result<(), String> {
    build_programs()?;
    LOADED.iter().try_for_each(Loaded::build)?;
    let licences = ["LICENSE-APACHE", "LICENSE-MIT"].map(|name| workspace().join(name));
    for file in
        ["package.json", "README.md"].map(|name| workspace().join("wasm/npm").join(name)).iter().chain(&licences)
    {
        files::copy(file, &package().join(file.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// Makes the package, has Node restore with it what the command has saved, and save what the command restores; then runs
/// the scripted session wherever the engine runs.
pub(crate) fn run() -> Result<Tally, String> {
    build()?;
    let mut tally = Tally::default();
    for module in &LOADED {
        let (size, max, foreign) = (module.size()?, module.bytes_max, module.foreign_imports()?);
        let name = module.name;
        let loaded = format!("a browser loads {size} bytes of the module {name}, allowed are {max}");
        tally.check(&loaded, held(size <= max));
        let imports = format!("the module {name} imports only what its JavaScript gives it {foreign:?}");
        tally.check(&imports, held(foreign.is_empty()));
    }
    let golden = workspace().join("tests/golden");
    let told = golden.join("session.txt");
    for (script, given, what) in [
        ("unlock.mjs", &told, "Node unlocks with a passphrase that another thread has stretched"),
        ("administration.mjs", &told, "the module for administration goes on with what the other one has stretched"),
        ("columns.mjs", &told, "Node hands files over in columns, and none that do not fit each other"),
        ("golden.mjs", &golden, "Node restores the golden repository"),
    ] {
        tally.check(what, succeed(node(script).arg(package()).arg(given)));
    }
    tally.check("the command restores what Node has saved", round_trip());
    tally.check("a program of Node's uses the package as npm installs it", installed());

    let session = module("examples/session.wasm", &["--example", "session", "--no-default-features"])?;
    let Module { imports, features } = Module::parse(&files::read(&session)?)?;
    tally.check(&format!("the session imports nothing {imports:?}"), held(imports.is_empty()));
    tally.check("the session uses SIMD", held(features.iter().any(|feature| feature == "+simd128")));
    let expected = files::text(&told)?;
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    let python = environment("wasi", &workspace().join("tests/wasi/requirements.txt"))?.join("python");
    let wasmtime = output(Command::new(python).arg(workspace().join("tests/wasm/run.py")).arg(&session));
    let reports = [
        ("wasmtime", wasmtime?),
        ("Node, without JavaScript around the engine", output(node("run.mjs").arg(&session))?),
        ("Node, sealed by its WebCrypto", output(node("node.mjs").arg(package()).arg(&told))?),
        ("Chromium, sealed by its WebCrypto", output(node("browser.mjs").arg(package()).arg(&told).arg(chromium))?),
    ];
    for (host, report) in reports {
        let differing = expected.lines().find(|line| !report.lines().any(|made| made == *line));
        let is_same = if report == expected { Ok(()) } else { Err(differing.unwrap_or(&report).to_owned()) };
        tally.check(&format!("{host}: {} objects", expected.lines().count()), is_same);
    }
    Ok(tally)
}

fn held(holds: bool) -> Result<(), String> {
    if holds { Ok(()) } else { Err("it is not so".to_owned()) }
}

/// A folder saved by Node, twice; then the command takes it in, checks it, and restores it.
fn round_trip() -> Result<(), String> {
    let place = room("tmp/round-trip")?;
    let folder = workspace().join("format/src");
    let copal = |arguments: &[&str]| copal(&place, arguments);
    copal(&["init"])?;
    for _ in 0..2 {
        let mut save = node("roundtrip.mjs");
        save.arg(package()).arg(place.join("repository")).arg(DECOMPOSED).arg(&folder).arg(place.join("kept"));
        succeed(&mut save)?;
        copal(&["ingest"])?;
    }
    copal(&["check", "--read-data"])?;
    let out = place.join("out");
    copal(&["restore", "latest", "--host", "browser", "--target", &out.to_string_lossy()])?;
    succeed(Command::new("diff").arg("--recursive").arg(&folder).arg(out.join("src")))?;
    files::remove(&place)
}

/// What the command has saved is read with the package that npm packs and installs; a stream that it saves, the command
/// restores.
fn installed() -> Result<(), String> {
    let place = room("tmp/npm")?;
    copal(&place, &["init"])?;
    copal(&place, &["backup", &workspace().join("format/src").to_string_lossy()])?;
    let npm = |arguments: &[&str]| succeed(Command::new("npm").args(arguments).arg(&place).current_dir(package()));
    npm(&["pack", "--silent", "--pack-destination"])?;
    let archive = place.join(format!("copal-{}.tgz", env!("CARGO_PKG_VERSION")));
    let archive = archive.to_string_lossy();
    npm(&["install", "--silent", "--offline", "--no-audit", "--no-fund", &archive, "--prefix"])?;
    succeed(node("npm.mjs").arg(&place).arg(place.join("repository")).arg(DECOMPOSED).arg("lines"))?;
    copal(&place, &["ingest"])?;
    copal(&place, &["check", "--full"])?;
    let out = place.join("out");
    copal(&place, &["restore", "latest", "--host", "node", "--target", &out.to_string_lossy()])?;
    let lines: String = (0..300_000).map(|line| format!("{line:09}\n")).collect();
    if files::text(&out.join("lines"))? != lines {
        return Err("the stream that the package has saved is another one".to_owned());
    }
    files::remove(&place)
}

/// A new folder below the target directory, with a home for the command and its password.
fn room(name: &str) -> Result<PathBuf, String> {
    let place = target().join(name);
    files::fresh(&place)?;
    files::make(&place.join("home"))?;
    files::write(&place.join("password"), "sch\u{f6}ne Worte")?;
    build_programs()?;
    Ok(place)
}

/// Runs the command on the repository in a folder.
fn copal(place: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(target().join("debug/copal"));
    command.env("HOME", place.join("home")).env("XDG_STATE_HOME", place.join("state"));
    command.env("XDG_CACHE_HOME", place.join("cache")).env("COPAL_PASSWORD_FILE", place.join("password"));
    succeed(command.args(["--quiet", "--repository"]).arg(place.join("repository")).args(arguments))
}

/// Builds for WebAssembly; gives where the module is.
fn module(name: &str, arguments: &[&str]) -> Result<PathBuf, String> {
    let mut build = cargo(&["build", "--package", "copal-wasm", "--profile", PROFILE, "--target", TARGET]);
    // The flags for WebAssembly are in cargo's configuration, which these variables would override.
    build.args(arguments).env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    succeed(&mut build)?;
    Ok(target().join(TARGET).join(PROFILE).join(name))
}

fn node(script: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(workspace().join("tests/wasm").join(script));
    command
}

const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: &str = "release-wasm";

/// The passphrase as another keyboard writes it: the engine composes it for the command, JavaScript for the module.
const DECOMPOSED: &str = "scho\u{308}ne Worte";
