//! The suite: everything that is checked before a change is accepted, stage by stage.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use crate::command::{OWN, building, cargo, count, linting, succeed, succeed_without_warnings, target};
use crate::tally::Tally;
use crate::{carried, counts, deploy, dist, interface, memory, python, reader, site, systems, tools, wasm};

/// Runs every stage, whatever became of the one before; prints the count of tests last, alone on its line. An error
/// means that a tool is missing and nothing was run.
pub(crate) fn run() -> Result<ExitCode, String> {
    let mut suite = Suite::default();
    let start = Instant::now();
    heading("tools");
    tools::set_up()?;
    tools::set_up_infra()?;
    tools::set_up_deploy()?;
    tools::set_up_packages()?;

    suite.stage("format", || cargo_succeeds(&["fmt", "--all", "--check"]));
    // Tests of the command run it: cargo alone builds it only for tests of its own crate.
    suite.stage("programs", || lints(building(&["--bins", "--lib"])));
    // It waits for Terraform and its account as often as it computes: it runs beside what is built next.
    let deployed = Beside::start("infra");
    suite.stage("the modules for browsers", wasm::run);
    // Browsers wait more than they compute: they run beside the tests.
    let page = Beside::start("web");
    // Tests run it.
    suite.stage("reader for WASI", || carried::run().map(|()| Tally::default()));
    suite.stage("the tests' programs", || lints(linting(&["test", "--workspace", "--all-features", "--no-run"])));
    // Tests hold what it renders against the code.
    suite.stage("infrastructure", || deployed?.wait());
    suite.stage("tests", || {
        // Two more at a time than there are cores: some wait for a server, a slow line or a clock.
        let threads = std::thread::available_parallelism().map_or(2, usize::from) + 2;
        let mut tests = linting(&["test", "--workspace", "--all-features", "--no-fail-fast"]);
        count(tests.env("RUST_TEST_THREADS", threads.to_string()))
    });
    // The stages from here on often use one core only. The provers use the other one.
    let proofs = Beside::start("proofs");
    suite.stage("instructions", counts::run);
    suite.stage("documents", || {
        interface::document()?;
        interface::check()
    });
    suite.stage("site", site::run);
    suite.stage("chart for Kubernetes", deploy::run);
    suite.stage("reader in Python", reader::run);
    suite.stage("package for Python", python::run);
    suite.stage("packages", dist::check);
    suite.stage("other systems", || systems::run(&systems::MOST));
    suite.stage("proofs", || proofs?.wait());
    suite.stage("web app", || page?.wait());

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
        let mut test = linting(&["test", "--workspace", "--all-features"]);
        let (choice, filters) = arguments.split_at(arguments.len().min(2));
        test.args(choice).arg("--").args(filters).env("COPAL_SIM_RUNS", "200");
        suite.stage(name, || count(&mut test)?.not_empty());
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
        let (start, busy) = (Instant::now(), busy());
        let (tally, reason) = match run() {
            Ok(tally) => (tally, (tally.failed > 0).then(|| tally.to_string())),
            Err(reason) => (Tally::of(false), Some(reason)),
        };
        self.tally += tally;
        reason.iter().for_each(|reason| println!("FAILED {name}: {reason}"));
        let busy = self::busy() - busy;
        println!("-- {name}: {:.1} s, {busy:.0} s of processor time", start.elapsed().as_secs_f64());
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

/// Processor time of all commands that have ended, in seconds; 0 where the system does not tell it as Linux does.
fn busy() -> f64 {
    let told = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the program's name: user and system time of waited-for children, in hundredths of a second.
    let numbers = told.rsplit(") ").next().into_iter().flat_map(str::split_whitespace);
    numbers.skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// One of the project's own commands, which runs beside other stages.
struct Beside {
    child: Child,
    log: PathBuf,
}

impl Beside {
    fn start(command: &str) -> Result<Self, String> {
        let log = target().join(format!("{command}.log"));
        let failed = |error: std::io::Error| format!("cannot run {command}: {error}");
        let file = File::create(&log).map_err(failed)?;
        let mut own = Command::new(&*OWN);
        own.arg(command).stdin(Stdio::null()).stdout(file.try_clone().map_err(failed)?).stderr(file);
        if command == "web" {
            memory::without_temporary_files(&mut own);
        }
        Ok(Self { child: own.spawn().map_err(failed)?, log })
    }

    /// Waits for its end, shows all that it has printed, and takes the count from its last line.
    fn wait(mut self) -> Result<Tally, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.log.display());
        let status = self.child.wait().map_err(failed)?;
        let printed = std::fs::read(&self.log).map_err(failed)?;
        let printed = String::from_utf8_lossy(&printed);
        println!("{printed}");
        let mut tally = Tally::default();
        tally.read(printed.trim_end().lines().next_back().unwrap_or_default());
        if !status.success() && tally.failed == 0 { Err(status.to_string()) } else { Ok(tally) }
    }
}

fn lints(mut building: Command) -> Result<Tally, String> {
    succeed_without_warnings(&mut building).map(|()| Tally::default())
}

fn cargo_succeeds(arguments: &[&str]) -> Result<Tally, String> {
    succeed(&mut cargo(arguments)).map(|()| Tally::default())
}

fn heading(text: &str) {
    println!("\n== {text}");
}
