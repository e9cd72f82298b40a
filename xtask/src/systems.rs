//! Systems: whether the command compiles for the systems that it does not run on here.

use crate::command::{cargo, succeed};
use crate::tally::Tally;
use crate::tools;

/// A processor for each of them: the code asks for the system alone.
pub(crate) const ALL: [&str; 3] = ["aarch64-apple-darwin", "x86_64-pc-windows-gnu", "x86_64-unknown-freebsd"];
/// The one that has the most code of its own. Each costs the suite two minutes or more, and a release builds for macOS, too.
pub(crate) const MOST: [&str; 1] = [ALL[1]];

/// Compiles the command for some of them, without linking it; warnings are errors. What is not linked needs none of its
/// libraries' C, so a program that does nothing stands for the compilers of C.
pub(crate) fn run(targets: &[&str]) -> Result<Tally, String> {
    let mut lints =
        cargo(&["clippy", "--locked", "--keep-going", "--package", "copal-client", "--package", "copal-cli"]);
    for target in targets {
        tools::set_up_target(target)?;
        lints.args(["--target", target]);
        for tool in ["CC", "CXX", "AR"] {
            lints.env(format!("{tool}_{}", target.replace('-', "_")), "true");
        }
    }
    let mut tally = Tally::default();
    let linted = succeed(lints.args(["--lib", "--bin", "copal", "--", "-D", "warnings"]));
    tally.check(&format!("the command for {}", targets.join(", ")), linted);
    Ok(tally)
}
