//! Archive: a program with its manual, completions and licences in one file, for machines without a package manager.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::contents::Contents;
use super::{Release, Target, python};
use crate::command::{output, succeed};
use crate::files::{copy, fresh};

/// Packs the archive of a target.
pub(super) fn pack(
    release: &Release,
    target: &Target,
    program: &Path,
    contents: &Contents,
    work: &Path,
) -> Result<(), String> {
    let name = format!("copal-{}-{}", release.version, target.triple);
    let folder = work.join(&name);
    fresh(&folder)?;
    copy(program, &folder.join(target.program))?;
    for kind in ["man", "completions", "licences"] {
        for (file, name) in contents.of(kind)? {
            copy(&file, &folder.join(kind).join(name))?;
        }
    }
    copy(&contents.file("doc/README.md"), &folder.join("README.md"))?;
    let file = release.file(&format!("{}.{}", target.triple, target.archive));
    if target.archive == "zip" { zip(release, &folder, &file) } else { tar(release, work, &name, &file) }
}

fn tar(release: &Release, work: &Path, name: &str, file: &Path) -> Result<(), String> {
    let mut tar = release.tar();
    succeed(
        tar.arg("--mode=u=rwX,go=rX")
            .arg("--use-compress-program=gzip -n6")
            .arg("-cf")
            .arg(file)
            .arg("-C")
            .arg(work)
            .arg(name),
    )
}

fn zip(release: &Release, folder: &PathBuf, file: &Path) -> Result<(), String> {
    output(Command::new(python()?).arg("-c").arg(ZIP).arg(folder).arg(file).arg(&release.time)).map(drop)
}

/// Writes a zip with the files of a folder at its top, in order, all of one time.
const ZIP: &str = "
import pathlib, sys, time, zipfile
folder, target, when = pathlib.Path(sys.argv[1]), sys.argv[2], time.gmtime(int(sys.argv[3]))[:6]
with zipfile.ZipFile(target, 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for path in sorted(path for path in folder.rglob('*') if path.is_file()):
        entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), when)
        entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
        entry.external_attr = (0o100755 if path.stat().st_mode & 0o100 else 0o100644) << 16
        archive.writestr(entry, path.read_bytes())
";
