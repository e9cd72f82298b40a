//! Program: where cargo has put the workspace's compiled programs.

use std::path::PathBuf;

/// A program of the workspace, which lies beside the directory of the running test's program.
///
/// # Panics
/// If it was not built.
pub fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a running program has a path");
    let folders = own.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    folders.into_iter().find(|path| path.is_file()).unwrap_or_else(|| {
        panic!("there is no program {name} beside {}: build it with `cargo build --workspace --bins`", own.display())
    })
}

/// The program of the functions: `COPAL_FUNCTIONS`, such as the one that is deployed, or what cargo has built.
///
/// # Panics
/// If it was not built.
pub fn functions() -> PathBuf {
    std::env::var_os("COPAL_FUNCTIONS").map_or_else(|| program("copal-lambda"), PathBuf::from)
}
