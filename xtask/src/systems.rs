//! Systems: whether the command compiles for the systems that it does not run on here.

use crate::command::{of_cargo, succeed};
use crate::dist::zig;
use crate::tally::Tally;
use crate::tools;

/// A processor for each of them: the code asks for the system alone.
const TARGETS: [&str; 3] = ["aarch64-apple-darwin", "x86_64-unknown-freebsd", "x86_64-pc-windows-gnu"];

/// Compiles the command for each, without linking it; warnings are errors.
pub(crate) fn run() -> Result<Tally, String> {
    let zig = zig()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([zig.clone()].into_iter().chain(std::env::split_paths(&path)));
    let path = path.map_err(|error| error.to_string())?;
    let mut tally = Tally::default();
    for target in TARGETS {
        tools::set_up_target(target)?;
        let mut lints = of_cargo(&zig.join("cargo-zigbuild"), &["clippy", "--locked", "--target", target]);
        lints.args(["--package", "copal-client", "--package", "copal-cli", "--lib", "--bin", "copal"]);
        tally.check(target, succeed(lints.args(["--", "-D", "warnings"]).env("PATH", &path)));
    }
    Ok(tally)
}
