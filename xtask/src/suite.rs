//! The suite: everything that is checked before a change is accepted, stage by stage.

use std::process::ExitCode;
use std::time::Instant;

use crate::command::{cargo, count, succeed};
use crate::tally::Tally;
use crate::{carried, infra, lambda, page, probe, proofs, reader, tools, wasm};

/// Runs every stage, whatever became of the one before; prints the count of tests last, alone on its line. An error
/// means that a tool is missing and nothing was run.
pub(crate) fn run() -> Result<ExitCode, String> {
    let mut suite = Suite::default();
    let start = Instant::now();
    heading("tools");
    tools::set_up()?;
    tools::set_up_infra()?;
    tools::set_up_lambda()?;
    tools::set_up_emulator()?;

    suite.stage("format", || cargo_succeeds(&["fmt", "--all", "--check"]));
    suite.stage("lints", || {
        let lints = ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
        cargo_succeeds(&lints)
    });
    // Tests of the command run it: cargo alone builds it only for tests of its own crate.
    suite.stage("programs", || cargo_succeeds(&["build", "--workspace", "--all-features", "--bins"]));
    // Tests run it.
    suite.stage("reader for WASI", || carried::run().map(|()| Tally::default()));
    // Tests hold what it renders against the code.
    suite.stage("infrastructure", infra::run);
    suite.stage("tests", || count(&mut cargo(&["test", "--workspace", "--all-features", "--no-fail-fast"])));
    // With the tests' programs at hand, which run once more against what is uploaded to Lambda.
    suite.stage("functions for Lambda", lambda::run);
    suite.stage("documents", || {
        let mut command = cargo(&["doc", "--workspace", "--all-features", "--no-deps"]);
        succeed(command.env("RUSTDOCFLAGS", "-D warnings")).map(|()| Tally::default())
    });
    suite.stage("WebAssembly", probe::run);
    suite.stage("the module for browsers", wasm::run);
    suite.stage("web app", page::test);
    suite.stage("reader in Python", reader::run);
    suite.stage("proofs", || proofs::run(&[]));

    heading(&format!("all stages: {:.0} s", start.elapsed().as_secs_f64()));
    Ok(suite.end())
}

/// Runs the checks that take less than three minutes once everything is built: unit tests, the format's golden bytes, the command on a
/// golden repository, 200 seeds of the simulation, and the order of layers.
pub(crate) fn quick() -> Result<ExitCode, String> {
    let mut suite = Suite::default();
    suite.stage("format", || cargo_succeeds(&["fmt", "--all", "--check"]));
    let parts: [(&str, &[&str]); 5] = [
        ("units", &["--lib"]),
        ("golden bytes", &["--test", "format"]),
        ("golden repository", &["--test", "command", "golden::"]),
        ("simulation", &["--test", "simulation", "no_schedule"]),
        ("layers and documents", &["--test", "house", "layering::", "threats::"]),
    ];
    for (name, arguments) in parts {
        // All with the same features, so that everything is built once.
        let mut test = cargo(&["test", "--workspace", "--all-features"]);
        let (choice, filters) = arguments.split_at(arguments.len().min(2));
        test.args(choice).arg("--").args(filters).env("COPAL_SIM_RUNS", "200");
        suite.stage(name, || count(&mut test));
    }
    Ok(suite.end())
}

#[derive(Default)]
struct Suite {
    tally: Tally,
    failures: Vec<String>,
}

impl Suite {
    /// Runs a stage. One that fails without a test of its own counts as one failed test.
    fn stage(&mut self, name: &str, run: impl FnOnce() -> Result<Tally, String>) {
        heading(name);
        let start = Instant::now();
        let (tally, reason) = match run() {
            Ok(tally) => (tally, (tally.failed > 0).then(|| tally.to_string())),
            Err(reason) => (Tally::of(false), Some(reason)),
        };
        self.tally += tally;
        reason.iter().for_each(|reason| println!("FAILED {name}: {reason}"));
        println!("-- {name}: {:.1} s", start.elapsed().as_secs_f64());
        self.failures.extend(reason.map(|reason| format!("{name}: {reason}")));
    }

    /// Prints the failures, and the count last, alone on its line.
    fn end(mut self) -> ExitCode {
        let verdict = self.tally.verdict();
        self.failures.extend(verdict.filter(|_| self.failures.is_empty()));
        self.failures.iter().for_each(|failure| println!("failed: {failure}"));
        println!("{}", self.tally);
        if self.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn cargo_succeeds(arguments: &[&str]) -> Result<Tally, String> {
    succeed(&mut cargo(arguments)).map(|()| Tally::default())
}

fn heading(text: &str) {
    println!("\n== {text}");
}
