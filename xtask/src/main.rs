//! The project's own commands: `cargo xtask test`, `wasm`, `python`, `infra`, `lambda`, `aws`, `deploy`, `dist`, `stack`, `soak`, `demo`, `site`, `fuzz`, `proofs`, `counts`, `bench`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

mod archive;
mod carried;
mod command;
mod counts;
mod deploy;
mod dist;
mod environment;
mod files;
mod fuzz;
mod infra;
mod interface;
mod lambda;
mod memory;
mod module;
mod page;
mod proofs;
mod protection;
mod python;
mod reader;
mod site;
mod speed;
mod stack;
mod suite;
mod systems;
mod tally;
mod tools;
mod wasm;
mod windows;

const USAGE: &str = "\
usage: cargo xtask <command>

  test           check or install the tools, then format, lints, all tests, documents, WebAssembly, the readers
  test --quick   what takes less than three minutes: format, unit tests, golden bytes, 200 seeds of the simulation, layers
  tools          check or install the tools alone
  reader         build the reader that every repository carries
  release        build the command for this machine as it is released, with the reader inside
  dist [--twice] [--from URL]
                 make all that a release holds: programs, packages, image, checksums; manifests and the installer for
                 files that will be at URL. Twice: in two folders, and compare
  packages       pack the command as the tests have it, and install, run and remove the packages
  wasm           build the modules for browsers, and run them in Node, wasmtime and Chromium
  python         build the Python package as the tests have it, and test it against the command
  wheel          build the Python package as it is released
  interface      write the list of what programs can use of copal-client anew
  web            build the web app around that module, and test it in Node and in Chromium
  systems        compile the command for macOS, FreeBSD and Windows
  windows        build copal.exe, and test it under wine beside this machine's command
  proofs [NAME]  prove properties of the engine's arithmetic for all numbers, by symbolic execution
  counts         hold the instructions that stages of a backup take to bench/counts.txt
  infra          check what is deployed in AWS: Terraform's tests, linters
  aws            build what is deployed in AWS, and pack it: modules of Terraform, functions, page
  lambda         build the functions for Lambda, and check the zip
  deploy         check the chart for Kubernetes, and walk through its page
  site           build the documents as a site, and check every link in them
  stack          run the local stand-in of a deployment in AWS, until Ctrl-C
  soak [MINUTES [SEED]]
                 fifty machines save into that for an hour, while its S3 fails at half of all requests and everything
                 is killed now and then; then all of it is restored and compared
  fuzz TARGET|all [SECONDS]
                 search with libFuzzer for inputs that a decoder of tests/src/fuzz.rs does not stand, for a minute each by default
  demo           build everything, serve a new repository with the web app, and say where it is
  bench browser FOLDER
                 measure what a browser's worker does with the folder's files, and the same natively
  bench scale [CHUNKS]
                 measure index, mark and the plan of a prune over made-up metadata, of a hundred million chunks by default
  bench far FOLDER
                 measure the command on a bucket that answers 50 ms late, beside one that does not
  bench [args]   run the measurements in bench/";

fn main() -> ExitCode {
    std::sync::LazyLock::force(&command::OWN);
    if let Some(folder) = interface::is_rustdoc() {
        return interface::as_rustdoc(&folder);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => memory::again().map_or_else(suite::run, Ok),
        ["test", "--quick"] => memory::again().map_or_else(suite::quick, Ok),
        ["tools"] => tools::set_up().map(|()| ExitCode::SUCCESS),
        ["reader"] => carried::run().map(|()| ExitCode::SUCCESS),
        ["release"] => carried::release().map(|()| ExitCode::SUCCESS),
        ["dist"] => dist::run(None).map(|()| ExitCode::SUCCESS),
        ["dist", "--from", from] => dist::run(Some(from)).map(|()| ExitCode::SUCCESS),
        ["dist", "--twice"] => dist::twice(None).map(|()| ExitCode::SUCCESS),
        ["dist", "--twice", "--from", from] => dist::twice(Some(from)).map(|()| ExitCode::SUCCESS),
        ["packages"] => dist::check().map(exit),
        ["wasm"] => webassembly(),
        ["python"] => python::run().map(exit),
        ["wheel"] => python::wheel().map(|()| ExitCode::SUCCESS),
        ["interface"] => interface::write().map(|()| ExitCode::SUCCESS),
        ["systems"] => systems::run(&systems::ALL).map(exit),
        ["windows"] => windows::run().map(exit),
        ["web"] => page::test().map(exit),
        ["demo"] => page::demo().map(|()| ExitCode::SUCCESS),
        ["fuzz", target] => fuzz::run(target, "60").map(|()| ExitCode::SUCCESS),
        ["fuzz", target, seconds] => fuzz::run(target, seconds).map(|()| ExitCode::SUCCESS),
        ["counts"] => counts::run().map(exit),
        ["proofs", names @ ..] => proofs::run(names).map(exit),
        ["deploy"] => deploy::run().map(exit),
        ["site"] => site::run().map(exit),
        ["stack"] => stack::run("stack", &[]).map(|()| ExitCode::SUCCESS),
        ["soak", arguments @ ..] => stack::run("soak", arguments).map(|()| ExitCode::SUCCESS),
        ["infra"] => infra::run().map(exit),
        ["lambda"] => lambda::run().map(exit),
        ["aws"] => archive::run().map(|()| ExitCode::SUCCESS),
        ["bench", "browser", folder] => speed::run(folder).map(|()| ExitCode::SUCCESS),
        ["bench", "scale", chunks @ ..] => scale(chunks).map(|()| ExitCode::SUCCESS),
        ["bench", "far", folder] => far(folder).map(|()| ExitCode::SUCCESS),
        ["bench", rest @ ..] => bench(rest),
        _ => Err(USAGE.to_owned()),
    };
    result.unwrap_or_else(|reason| {
        eprintln!("{reason}");
        ExitCode::FAILURE
    })
}

fn webassembly() -> Result<ExitCode, String> {
    tools::set_up()?;
    wasm::run().map(exit)
}

fn exit(tally: tally::Tally) -> ExitCode {
    println!("{tally}");
    if tally.verdict().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn scale(chunks: &[&str]) -> Result<(), String> {
    let example = ["run", "--release", "--package", "copal-engine", "--example", "scale", "--"];
    command::succeed(command::cargo(&example).args(chunks))
}

fn far(folder: &str) -> Result<(), String> {
    tools::set_up()?;
    carried::release()?;
    command::succeed(&mut command::linting(&["build", "--workspace", "--all-features", "--example", "far_bucket"]))?;
    let mut measure = std::process::Command::new(command::target().join("debug/examples/far_bucket"));
    command::succeed(measure.arg(command::target().join("release/copal")).args(["50", folder]))
}

fn bench(arguments: &[&str]) -> Result<ExitCode, String> {
    command::succeed(command::cargo(&["bench", "--package", "copal-bench"]).args(arguments))?;
    Ok(ExitCode::SUCCESS)
}
