//! Speed: what a tab does with the files of a folder, in WebAssembly and natively, by turns; in processor seconds, so that
//! what else the machine does falls on neither.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{cargo, output, succeed, target, workspace};
use crate::{page, wasm};

/// Measures with the files of a folder and prints tables.
pub(crate) fn run(folder: &str) -> Result<(), String> {
    wasm::build()?;
    let mut build = cargo(&["build", "--release", "--package", "copal-wasm", "--no-default-features"]);
    succeed(build.args(["--example", "speed"]))?;
    let session = workspace().join("tests/golden/session.txt");
    let session = session.to_string_lossy();

    println!("| on one core | native | WebAssembly | ratio | bar |\n|---|---|---|---|---|");
    let [mut worker, mut bytes] = [0.0; 2];
    for level in ["3", "1"] {
        let native = || told(&mut natively(&["worker", folder, level]));
        let [native, browser] = by_turns(native, || told(&mut in_node("worker.mjs", &[folder, level])))?;
        let cut = ["cut"].as_slice();
        let both = ["cut", "compress"].as_slice();
        row(&format!("new data, level {level}, MB/s"), both, &native, &browser)?;
        if level == "3" {
            row("known data, MB/s", cut, &native, &browser)?;
            (worker, bytes) = (sum(&browser, both)?, number(&browser, "bytes")?);
        }
    }
    let native = || told(&mut natively(&["unchanged", &session]));
    let [native, browser] = by_turns(native, || told(&mut in_node("unchanged.mjs", &[&session])))?;
    row("unchanged, thousand entries/s", &["seconds"], &native, &browser)?;

    let whole = || told(&mut in_node("coordinator.mjs", &[&session, folder]));
    let [whole, _] = by_turns(whole, || Ok(String::new()))?;
    let coordinator = number(&whole, "seconds")? - worker;
    println!(
        "\nnew data, level 3, {:.0} MB: workers {worker:.3} s, coordinator and cipher {coordinator:.3} s;",
        bytes / 1e6
    );
    println!("memory of the engine: {:.0} MB", number(&whole, "memory")? / 1e6);
    elapsed(&session, folder)?;
    println!("load of the machine: {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    Ok(())
}

/// Elapsed times in Chromium, of the same folder, uploads answered in the page.
fn elapsed(session: &str, folder: &str) -> Result<(), String> {
    page::install()?;
    let mut measure = Command::new("node");
    measure.arg(workspace().join("web-demo/test/bench/measure.mjs")).args([session, folder, "folder", "3"]);
    let told = told(&mut measure)?;
    let (one, two) = told.split_once("\"two\":").ok_or_else(|| format!("a measurement printed {told:?}"))?;
    let rate = |part| Ok::<_, String>(number(part, "bytes")? / 1e6 / number(part, "seconds")?);
    println!("in Chromium, new data, level 3: {:.0} MB/s with one worker, {:.0} with two", rate(one)?, rate(two)?);
    println!("two workers {:.2} times as fast as one", number(one, "seconds")? / number(two, "seconds")?);
    Ok(())
}

fn natively(arguments: &[&str]) -> Command {
    let mut command = Command::new(target().join("release/examples/speed"));
    command.args(arguments);
    command
}

fn in_node(script: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("node");
    let folder: PathBuf = workspace().join("bench/browser");
    command.arg(folder.join(script)).arg(wasm::package()).args(arguments);
    command
}

fn told(command: &mut Command) -> Result<String, String> {
    Ok(output(command)?.trim().to_owned())
}

/// Runs two measurements several times, one after the other; of each the run that took least counts.
fn by_turns(
    first: impl Fn() -> Result<String, String>,
    second: impl Fn() -> Result<String, String>,
) -> Result<[String; 2], String> {
    let mut best = [String::new(), String::new()];
    for _ in 0..ROUNDS {
        for (best, found) in best.iter_mut().zip([first()?, second()?]) {
            if best.is_empty() || seconds(&found)? < seconds(best)? {
                *best = found;
            }
        }
    }
    Ok(best)
}

fn seconds(text: &str) -> Result<f64, String> {
    if text.is_empty() {
        return Ok(0.0);
    }
    number(text, "seconds").or_else(|_| sum(text, &["cut", "compress"]))
}

fn row(what: &str, steps: &[&str], native: &str, browser: &str) -> Result<(), String> {
    let amount =
        number(native, "bytes").map(|bytes| bytes / 1e6).or_else(|_| number(native, "entries").map(|n| n / 1e3))?;
    let (native, browser) = (sum(native, steps)?, sum(browser, steps)?);
    let ratio = native / browser;
    println!("| {what} | {:.0} | {:.0} | {ratio:.2} | {BAR} |", amount / native, amount / browser);
    Ok(())
}

fn sum(text: &str, names: &[&str]) -> Result<f64, String> {
    names.iter().map(|name| number(text, name)).sum()
}

/// A number of a flat JSON object.
fn number(text: &str, name: &str) -> Result<f64, String> {
    let found = || {
        let rest = text.split_once(&format!("\"{name}\":"))?.1;
        rest.split([',', '}']).next()?.trim().parse().ok()
    };
    found().ok_or_else(|| format!("a measurement printed no {name}: {text:?}"))
}

const ROUNDS: usize = 3;
const BAR: f64 = 0.45;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_that_took_least_counts() {
        let runs = std::cell::RefCell::new(vec!["{\"seconds\":2.5}", "{\"seconds\":1.5}", "{\"seconds\":3}"]);
        let next = || Ok(runs.borrow_mut().pop().expect("as many as rounds").to_owned());
        let same = || Ok("{\"bytes\":100,\"cut\":0.25,\"compress\":1e0}\n".to_owned());
        let [first, second] = by_turns(next, same).unwrap();
        assert_eq!(number(&first, "seconds"), Ok(1.5));
        assert_eq!(sum(&second, &["cut", "compress"]), Ok(1.25));
    }

    #[test]
    fn what_a_measurement_does_not_tell_is_an_error() {
        assert!(number("{\"bytes\":100}", "cut").is_err());
        assert!(number("{\"bytes\":many}", "bytes").is_err());
    }
}
