//! Systems: whether the command compiles for the systems that it does not run on here.

use crate::command::succeed;
use crate::dist::zig;
use crate::tally::Tally;
use crate::tools;

/// A processor for each of them: the code asks for the system alone.
const TARGETS: [&str; 3] = ["aarch64-apple-darwin", "x86_64-unknown-freebsd", "x86_64-pc-windows-gnu"];

/// Compiles the command for each, without linking it; warnings are errors.
pub(crate) fn run() -> Result<Tally, String> {
    let mut tally = Tally::default();
    for target in TARGETS {
        tools::set_up_target(target)?;
        let mut lints = zig(&["clippy", "--locked", "--target", target, "--package", "copal-client"])?;
        lints.args(["--package", "copal-cli", "--lib", "--bin", "copal", "--", "-D", "warnings"]);
        tally.check(target, succeed(&mut lints));
    }
    Ok(tally)
}
