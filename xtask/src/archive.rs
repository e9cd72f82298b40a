//! Archive: what an operator deploys in AWS, in one file: the modules of Terraform, the functions for arm64, and the page.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{succeed, target, workspace};
use crate::{infra, lambda, page, tools, wasm};

/// Builds and packs it all.
pub(crate) fn run() -> Result<(), String> {
    tools::set_up()?;
    tools::set_up_lambda()?;
    wasm::build()?;
    let page = page::build()?;
    let functions = lambda::packed()?;

    let folder = target().join("aws");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    let inside = folder.join(NAME).join("infra");
    infra::copy_folder(&workspace().join("infra"), &inside).map_err(failed)?;
    fs::remove_dir_all(inside.join("tests")).map_err(failed)?;
    let release = inside.join("release");
    infra::copy_folder(&page, &release.join("page")).map_err(failed)?;
    fs::copy(functions, release.join("functions-arm64.zip")).map_err(failed)?;
    pack(&folder)
}

/// Packs the folder; the same files give the same bytes.
fn pack(folder: &Path) -> Result<(), String> {
    let file = format!("{NAME}.tar.gz");
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "-czf", &file, NAME]);
    succeed(tar.current_dir(folder).env("GZIP", "-n"))?;
    println!("{}", folder.join(file).display());
    Ok(())
}

/// The folder that it unpacks to, and the file's name.
const NAME: &str = "copal-aws";
