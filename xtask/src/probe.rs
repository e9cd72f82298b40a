//! The probe: the engine in WebAssembly computes what it computes natively, and needs nothing from its host.

use std::process::Command;

use crate::command::{cargo, output, succeed, target, workspace};
use crate::module::Module;
use crate::tally::Tally;

/// Builds the probe, checks its imports, runs it, and compares it with the golden report, which a native test holds
/// the native engine to.
pub(crate) fn run() -> Result<Tally, String> {
    let mut build = cargo(&["build", "--package", "copal-engine", "--example", "probe", "--profile", "release-wasm"]);
    // The flags for WebAssembly are in cargo's configuration, which these variables would override.
    build.args(["--target", "wasm32-unknown-unknown"]).env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    succeed(&mut build)?;

    let path = target().join("wasm32-unknown-unknown/release-wasm/examples/probe.wasm");
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let module = Module::parse(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{}: {} bytes", path.display(), bytes.len());

    let mut tally = Tally::default();
    let mut check = |what: &str, holds: bool| {
        println!("{} {what}", if holds { "ok    " } else { "FAILED" });
        tally += Tally::of(holds);
    };
    check(&format!("imports nothing {:?}", module.imports), module.imports.is_empty());
    check("uses SIMD", module.features.iter().any(|feature| feature == "+simd128"));

    let golden = workspace().join("tests/golden/probe.txt");
    let golden = std::fs::read_to_string(&golden).map_err(|error| format!("{}: {error}", golden.display()))?;
    let report = output(Command::new("node").arg(workspace().join("tests/wasm/run.mjs")).arg(&path))?;
    for line in golden.lines() {
        check(line, report.lines().any(|computed| computed == line));
    }
    check("reports the same steps", report.lines().count() == golden.lines().count() && !golden.is_empty());
    Ok(tally)
}
