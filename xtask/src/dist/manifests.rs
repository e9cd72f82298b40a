//! Manifests: what other package managers read, and the installer, from templates in `packaging/`.

use std::path::Path;
use std::process::Command;

use super::Release;
use crate::command::{output, workspace};
use crate::files;

/// Writes those whose files are all in the release. Says which are left out, and why.
pub(super) fn write(release: &Release) -> Result<(), String> {
    let Some(from) = &release.from else {
        println!("no manifests and no install.sh: \"--from URL\" says where the files will be");
        return Ok(());
    };
    for (template, name) in TEMPLATES {
        let text = files::text(&workspace().join("packaging").join(template))?;
        match filled(release, from, &text)? {
            Filled::Text(text) => files::write(&release.folder.join(name), text)?,
            Filled::Lacks(missing) => println!("no {name}: the release has no {missing}"),
        }
    }
    Ok(())
}

enum Filled {
    Text(String),
    /// A file that the template names is not in the release.
    Lacks(String),
}

/// Fills a template: `@VERSION@`, `@FROM@`, `@KEY@`, and `@SHA256 FILE@` for the checksum of a file of the release.
fn filled(release: &Release, from: &str, template: &str) -> Result<Filled, String> {
    let mut text = template.replace("@VERSION@", &release.version).replace("@FROM@", from.trim_end_matches('/'));
    if text.contains("@KEY@") {
        let Some(key) = &release.key else { return Ok(Filled::Lacks(format!("key: {} is not there", super::KEY))) };
        text = text.replace("@KEY@", key);
    }
    while let Some((before, rest)) = text.split_once("@SHA256 ") {
        let (name, after) =
            rest.split_once('@').ok_or_else(|| format!("\"@SHA256 {}\" has no end", &rest[..rest.len().min(40)]))?;
        let file = release.folder.join(name);
        if !file.exists() {
            return Ok(Filled::Lacks(name.to_owned()));
        }
        text = format!("{before}{}{after}", sha256(&file)?);
    }
    Ok(Filled::Text(text))
}

/// The checksum of a file.
pub(super) fn sha256(file: &Path) -> Result<String, String> {
    let line = output(Command::new("sha256sum").arg(file))?;
    // A name with a special sign has a backslash before its line.
    let sum = line.trim_start_matches('\\').split_whitespace().next();
    sum.map(str::to_owned).ok_or_else(|| format!("{}: sha256sum printed no checksum", file.display()))
}

/// Templates, and their names in the release.
const TEMPLATES: [(&str, &str); 8] = [
    ("install.sh", "install.sh"),
    ("manifests/copal.rb", "copal.rb"),
    ("manifests/scoop.json", "copal.scoop.json"),
    ("manifests/winget.yaml", "copal.winget.yaml"),
    ("manifests/winget.installer.yaml", "copal.winget.installer.yaml"),
    ("manifests/winget.locale.yaml", "copal.winget.locale.en-US.yaml"),
    ("manifests/PKGBUILD", "PKGBUILD"),
    ("manifests/SRCINFO", "SRCINFO"),
];
