//! Fuzzing: libFuzzer searches for inputs of the targets in `tests/src/fuzz.rs`, and the corpus keeps what reaches new code.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{cargo, output, succeed, target, workspace};
use crate::files::make;

/// Searches for so many seconds a target, from its corpus and from what earlier searches have found.
pub(crate) fn run(wanted: &str, seconds: &str) -> Result<(), String> {
    let program = build()?;
    let names = output(&mut Command::new(&program))?;
    let names: Vec<&str> = names.lines().filter(|name| wanted == "all" || *name == wanted).collect();
    if names.is_empty() {
        return Err(format!("there is no target {wanted:?} in tests/src/fuzz.rs"));
    }
    names.iter().try_for_each(|name| search(&program, name, seconds))
}

fn build() -> Result<PathBuf, String> {
    let place = target().join("fuzz");
    let mut build = cargo(&["build", "--release"]);
    // Flags for single packages are not stable, and the toolchain is to be the one that builds everything else.
    build.current_dir(workspace().join("tests/fuzz")).env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", &place);
    succeed(&mut build)?;
    Ok(place.join("release/copal-fuzz"))
}

fn search(program: &PathBuf, name: &str, seconds: &str) -> Result<(), String> {
    let found = target().join("fuzz/found").join(name);
    let corpus = workspace().join("tests/fuzz/corpus").join(name);
    make(&found)?;
    make(&corpus)?;
    let fuzzer = || {
        let mut fuzzer = Command::new(program);
        fuzzer.env("COPAL_FUZZ", name).current_dir(target().join("fuzz"));
        fuzzer
    };
    println!("fuzzing {name} for {seconds} s");
    let (length, limits) = (format!("-max_total_time={seconds}"), ["-timeout=10", "-rss_limit_mb=1024"]);
    let mut search = fuzzer();
    search.env("COPAL_FUZZ_SEEDS", &found).arg(length).args(limits).arg("-print_final_stats=1");
    succeed(search.args([&found, &corpus]))?;
    // Inputs that only repeat a piece of code more often are left out: the corpus is to stay small.
    succeed(fuzzer().args(["-merge=1", "-use_counters=0"]).args([&corpus, &found]))
}
