//! Protection: `terraform destroy` itself, on the one module that keeps it from the backups and needs no provider.

use std::path::Path;
use std::process::{Command, Stdio};

/// Makes it, and tries to destroy and to replace it before and after both variables say so.
pub(crate) fn run(folder: &Path) -> Result<(), String> {
    terraform(folder, &["init", "-input=false"], "one", true)?;
    let steps: [(&[&str], &str, bool, bool); 6] = [
        (&["apply", "-auto-approve"], "one", false, true),
        // What is said now counts only once it is applied.
        (&["destroy", "-auto-approve"], "one", true, false),
        (&["apply", "-auto-approve"], "another", false, false),
        (&["destroy", "-auto-approve"], "one", false, false),
        (&["apply", "-auto-approve"], "one", true, true),
        (&["destroy", "-auto-approve"], "one", true, true),
    ];
    for (at, (arguments, bucket, destroys, succeeds)) in steps.into_iter().enumerate() {
        let variables = [format!("-var=destroys={destroys}"), "-var=holds=[\"key\"]".to_owned()];
        let all: Vec<&str> = arguments.iter().copied().chain(variables.iter().map(String::as_str)).collect();
        terraform(folder, &all, bucket, succeeds).map_err(|reason| format!("step {}: {reason}", at + 1))?;
    }
    Ok(())
}

/// Runs Terraform; an error unless it ends as it should, and a refusal is that of the protection.
fn terraform(folder: &Path, arguments: &[&str], bucket: &str, succeeds: bool) -> Result<(), String> {
    let mut command = Command::new("terraform");
    command.args(arguments).arg("-no-color").current_dir(folder).stdin(Stdio::null());
    command.env("TF_VAR_bucket", bucket).env("CHECKPOINT_DISABLE", "1").env_remove("TF_DATA_DIR");
    let ended = command.output().map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    let is_refusal = told.contains("the backups are protected");
    match (ended.status.success(), succeeds) {
        (true, true) => Ok(()),
        (false, false) if is_refusal => Ok(()),
        (true, false) => Err(format!("terraform {} was not refused", arguments.join(" "))),
        _ => Err(format!("terraform {}: {}\n{told}", arguments.join(" "), ended.status)),
    }
}
