//! Counts: the instructions that stages of a backup and of upkeep take on small made-up input, held to what they took before.
//! Valgrind counts the same on every machine, however busy it is. So no change makes a stage dearer unseen.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{building, output, succeed_without_warnings, target, workspace};
use crate::tally::Tally;

/// What is counted: an example, and its arguments after the folder of files or the golden session that it begins with.
const STAGES: [(&str, &[&str]); 3] = [
    ("cut, name and compress 4 MiB", &["speed", "worker", "FOLDER", "3", "1"]),
    ("make a tree of 50,000 entries, then find it unchanged", &["speed", "unchanged", "SESSION", "1"]),
    ("index, mark and prune 300,000 chunks", &["scale", "300000"]),
];

/// Counts every stage; one that differs from what `bench/counts.txt` says has failed. `COPAL_COUNTS=write` writes that anew.
pub(crate) fn run() -> Result<Tally, String> {
    let (list, folder) = (workspace().join("bench/counts.txt"), target().join("counts"));
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    succeed_without_warnings(&mut building(&["--bins", "--lib", "--example", "speed", "--example", "scale"]))?;
    fill(&folder).map_err(|error| failed(&folder, error))?;
    let before = fs::read_to_string(&list).unwrap_or_default();
    let (mut tally, mut now) = (Tally::default(), String::new());
    for (name, words) in STAGES {
        let count = counted(words, &folder)?;
        let known = before.lines().find_map(|line| line.strip_suffix(name)?.trim().parse::<u64>().ok()).unwrap_or(0);
        let percent = count as f64 / known as f64 * 100.0 - 100.0;
        let is_same = percent.abs() <= MOST_PERCENT;
        println!("{} {name}: {count} instructions, {percent:+.2} %", if is_same { "ok    " } else { "FAILED" });
        tally += Tally::of(is_same);
        let _ = writeln!(now, "{count:>14} {name}");
    }
    if std::env::var_os("COPAL_COUNTS").is_some_and(|value| value == "write") {
        fs::write(&list, now).map_err(|error| failed(&list, error))?;
        return Ok(Tally::of(true));
    }
    if tally.failed > 0 {
        println!("if that is meant: COPAL_COUNTS=write cargo xtask counts, and say why in the commit");
    }
    Ok(tally)
}

/// The instructions that an example takes.
fn counted(words: &[&str], folder: &Path) -> Result<u64, String> {
    let session = workspace().join("tests/golden/session.txt");
    let (told, mut command) = (target().join("counts.out"), Command::new("valgrind"));
    command.args(["--tool=cachegrind", "--cache-sim=no", "--quiet"]);
    command.arg(format!("--cachegrind-out-file={}", told.display()));
    command.arg(target().join("debug/examples").join(words[0]));
    for word in &words[1..] {
        match *word {
            "FOLDER" => command.arg(folder),
            "SESSION" => command.arg(&session),
            word => command.arg(word),
        };
    }
    output(command.env("COPAL_COUNTED", "1").env("GLIBC_TUNABLES", PLAIN))?;
    let told = fs::read_to_string(&told).map_err(|error| format!("valgrind's output: {error}"))?;
    let sum = told.lines().find_map(|line| line.strip_prefix("summary: ")?.trim().parse().ok());
    sum.ok_or_else(|| "valgrind has told no sum".to_owned())
}

/// Fills a folder with text of few words and with noise, the same each time.
fn fill(folder: &Path) -> std::io::Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut number = move || {
        // Xorshift (Marsaglia, 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for file in 0..FILES {
        let mut content = Vec::with_capacity(FILE_BYTES);
        while content.len() < FILE_BYTES {
            match file % 2 {
                0 => content.extend(number().to_le_bytes()),
                _ => content.extend(format!("word{} ", number() % 3_000).bytes()),
            }
        }
        fs::write(folder.join(format!("{file:02}")), content)?;
    }
    Ok(())
}

/// Has the C library copy memory in one way on every processor. What else chooses by the processor sees the one that valgrind
/// plays.
const PLAIN: &str =
    "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM:glibc.cpu.x86_non_temporal_threshold=0x4000000";
const FILES: usize = 16;
const FILE_BYTES: usize = 256 << 10;
/// By how much a count may differ: hash tables are seeded anew in every run.
const MOST_PERCENT: f64 = 3.0;
