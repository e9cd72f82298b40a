//! Archive: what an operator deploys in AWS, in one file: the modules of Terraform, the functions for arm64, and the page.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{succeed, target, workspace};
use crate::files::{copy, entries, fresh, make, remove};
use crate::{lambda, page, tools, wasm};

/// Builds and packs it all.
pub(crate) fn run() -> Result<(), String> {
    tools::set_up()?;
    tools::set_up_lambda()?;
    wasm::build()?;
    let page = page::build()?;
    let functions = lambda::packed()?;
    println!("{}", pack(&page, &functions, &target().join("aws"))?.display());
    Ok(())
}

/// Packs them in a folder, which is made anew; gives the file.
pub(crate) fn pack(page: &Path, functions: &Path, folder: &Path) -> Result<PathBuf, String> {
    lay(page, functions, folder)?;
    let file = format!("{NAME}.tar.gz");
    let mut tar = Command::new("tar");
    // The same files give the same bytes.
    tar.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "-czf", &file, NAME]);
    succeed(tar.current_dir(folder).env("GZIP", "-n"))?;
    Ok(folder.join(file))
}

/// Lays them as they are unpacked.
fn lay(page: &Path, functions: &Path, folder: &Path) -> Result<(), String> {
    fresh(folder)?;
    let inside = folder.join(NAME).join("infra");
    copy_folder(&workspace().join("infra"), &inside)?;
    let release = inside.join("release");
    for other in [inside.join("tests"), release.clone()].iter().filter(|other| other.exists()) {
        remove(other)?;
    }
    copy_folder(page, &release.join("page"))?;
    copy(functions, &release.join("functions-arm64.zip"))
}

/// Copies a folder, but for what an operator of this checkout has there.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    make(to)?;
    for path in entries(from)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_operators = name.starts_with(".terraform")
            || name.ends_with(".tfvars")
            || name.ends_with(".tfvars.json")
            || name.contains(".tfstate")
            || name.ends_with("_override.tf");
        match path.is_dir() {
            _ if is_operators => {}
            true => copy_folder(&path, &to.join(&*name))?,
            false => copy(&path, &to.join(&*name))?,
        }
    }
    Ok(())
}

/// The folder that it unpacks to, and the file's name.
const NAME: &str = "copal-aws";
