//! Program: the command for a target, with the reader inside, the same bytes wherever it is built.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Target;
use crate::command::{before_path, cargo, of_cargo, remapped, succeed, target as build_folder, workspace};
use crate::environment::environment;
use crate::{files, tools};

/// A command of `cargo-zigbuild`: cargo with zig as the compiler and linker of C, for every target.
pub(crate) fn zig(arguments: &[&str]) -> Result<Command, String> {
    let programs = environment("zig", &workspace().join("packaging/zig.txt"))?;
    let mut command = of_cargo(&programs.join("cargo-zigbuild"), arguments);
    command.env("PATH", before_path([programs])?);
    Ok(command)
}

/// What has a program for macOS linked without Apple's development kit: lists of what the program uses of its frameworks.
fn frameworks() -> Vec<String> {
    ["-L".to_owned(), format!("framework={}", workspace().join("packaging/darwin").display())].into()
}

/// The oldest macOS that a program starts on (docs/cli.md, "Which systems?"). Zig's own default is a much newer one.
const OLDEST_MACOS: &str = "12.0";
/// Most bytes that a program may have.
const MOST_BYTES: u64 = 31_000_000;

/// Builds a target's program; gives its file. It records the crates that it is made of (`cargo auditable`).
pub(super) fn build(target: &Target, reader: &Path, time: &str) -> Result<PathBuf, String> {
    tools::set_up_target(target.triple)?;
    let programs = environment("zig", &workspace().join("packaging/zig.txt"))?;
    let frameworks = if target.is_macos() { frameworks() } else { Vec::new() };
    let mut build = cargo(&["auditable", "zigbuild", "--locked", "--profile", "small", "--package", "copal-cli"]);
    build.args(["--bin", "copal", "--target", target.triple]).args(remapped(target.triple, &frameworks)?);
    build.env("PATH", before_path([programs, build_folder().join("tools/bin")])?).env("SOURCE_DATE_EPOCH", time);
    build.env("COPAL_READER", reader).env("CARGO_PROFILE_SMALL_STRIP", "symbols");
    if target.is_macos() {
        build.env("MACOSX_DEPLOYMENT_TARGET", OLDEST_MACOS);
    }
    // Without this, jemalloc asks the processor that it is built on.
    build.env("JEMALLOC_SYS_WITH_LG_VADDR", "48");
    if target.triple.starts_with("aarch64") {
        // Kernels for arm64 have pages of 4, 16 or 64 KiB; jemalloc works with all that are not larger than this.
        build.env("JEMALLOC_SYS_WITH_LG_PAGE", "16");
    }
    succeed(&mut build)?;
    let program = build_folder().join(target.triple).join("small").join(target.program);
    let size = files::size(&program)?;
    println!("{}: {size} bytes", program.display());
    if size > MOST_BYTES {
        Err(format!("the program for {} has {size} bytes, allowed are {MOST_BYTES}", target.triple))
    } else {
        Ok(program)
    }
}
