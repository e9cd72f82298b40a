//! Protection: Terraform itself, asked to give up what holds the backups. It has to refuse while it plans, when nothing is
//! touched yet.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::succeed;
use crate::files::{copy, failed};

/// Changes and destroys the module of protection, which needs no provider, with and without leave.
pub(crate) fn run(folder: &Path, leave: &Path) -> Result<(), String> {
    const TWO: &str = r#"{a="one",b="two"}"#;
    succeed(terraform(folder).args(["init", "-input=false", "-no-color"]).stdout(Stdio::null()))?;
    // What is done, with what is held, whether the backups may be destroyed, and whether that succeeds.
    let steps = [
        ("apply", TWO, false, true),
        ("destroy", TWO, false, false),
        // What is replaced, or no longer there, is given up; what comes besides is not.
        ("apply", r#"{a="other",b="two"}"#, false, false),
        ("apply", r#"{a="one"}"#, false, false),
        ("apply", r#"{a="one",b="two",c="three"}"#, false, true),
        // The variables alone are no leave.
        ("apply", TWO, true, false),
        ("destroy", TWO, true, false),
    ];
    for (at, (act, holds, destroys, succeeds)) in steps.into_iter().enumerate() {
        step(folder, act, holds, destroys, succeeds).map_err(|reason| format!("step {}: {reason}", at + 1))?;
    }
    let lifted = folder.join("destroy_override.tf");
    copy(&leave.join("protection_override.tf.example"), &lifted)?;
    step(folder, "destroy", TWO, true, true)?;
    fs::remove_file(&lifted).map_err(failed(&lifted))
}

/// Has Terraform's tests make a whole deployment and destroy it, which has to fail with everything still there.
pub(crate) fn refused(mut test: Command) -> Result<(), String> {
    test.args(["test", "-no-color", "-test-directory=tests/kept"]);
    let told = test.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned() + &String::from_utf8_lossy(&told.stderr);
    let words: Vec<&str> = told.split_whitespace().collect();
    let said = words.join(" ");
    let is_kept = |what: &str| said.matches(&format!("Resource {what} has lifecycle.prevent_destroy set")).count();
    let held = r#"module.protection.terraform_data.held["repository"]"#;
    // That of the repository, and that of a replica.
    if is_kept(held) != 1 || is_kept("aws_kms_key.this") != 2 {
        return Err(format!("the repository or a key is not kept:\n{told}"));
    }
    // What a destruction would take first.
    for first in [
        r#"module.observation.aws_cloudwatch_metric_alarm.this["no-check"]"#,
        "module.gateway.aws_apigatewayv2_route.this",
    ] {
        if !said.contains(&format!("- {first}")) {
            return Err(format!("{first} was destroyed:\n{told}"));
        }
    }
    Ok(())
}

/// Lets the tests, whose deployments are destroyed at their end, destroy them: what an operator would do.
pub(crate) fn lift(infra: &Path) -> Result<(), String> {
    for (module, file) in [("protection", "protection"), ("key", "key"), ("replica", "key")] {
        let from = infra.join(format!("env/destroy/{file}_override.tf.example"));
        let to = infra.join(format!("modules/{module}/destroy_override.tf"));
        copy(&from, &to)?;
    }
    Ok(())
}

/// Applies or destroys; an error unless that ends as it should, and a refusal is that of the protection.
fn step(folder: &Path, act: &str, holds: &str, destroys: bool, succeeds: bool) -> Result<(), String> {
    let mut command = terraform(folder);
    command.args([act, "-auto-approve", "-no-color"]).stdin(Stdio::null());
    command.arg(format!("-var=holds={holds}")).arg(format!("-var=destroys={destroys}"));
    let ended = command.output().map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    let is_refusal = told.contains("has lifecycle.prevent_destroy set");
    match (ended.status.success(), succeeds) {
        (true, true) => Ok(()),
        (false, false) if is_refusal => Ok(()),
        (true, false) => Err(format!("terraform {act} was not refused")),
        _ => Err(format!("terraform {act}: {}\n{told}", ended.status)),
    }
}

fn terraform(folder: &Path) -> Command {
    let mut command = Command::new("terraform");
    command.current_dir(folder).env("CHECKPOINT_DISABLE", "1").env_remove("TF_DATA_DIR");
    command
}
