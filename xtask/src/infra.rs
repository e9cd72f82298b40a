//! Infra: what `infra/` deploys is sound Terraform, does what its tests say, and is what linters accept. What it deploys is
//! left in the target directory for the tests that hold it against the code (`tests/tests/infra/`).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::{build_programs, count, output, succeed, target, workspace};
use crate::environment::{environment, modules};
use crate::files::{entries, fresh, text, write};
use crate::tally::Tally;
use crate::{archive, protection, tools};

/// Checks everything, whatever became of the check before.
pub(crate) fn run() -> Result<Tally, String> {
    tools::set_up_infra()?;
    tools::set_up_store()?;
    let checkov = environment("checkov", &workspace().join("infra/requirements.txt"))?.join("checkov");
    modules("iam", &workspace().join("tests/iam"))?;
    let place = copy()?;
    init(&place, "tests")?;
    let account = account(&place)?;
    // It waits for Terraform as often as it computes, and so do the checks.
    let account = std::thread::spawn(move || count(&mut { account }));

    let mut tally = Tally::default();
    let source = workspace().join("infra");
    tally.check("terraform fmt", succeed(terraform(&source).args(["fmt", "-check", "-recursive", "-diff"])));
    tally.check("terraform validate", succeed(terraform(&place).args(["validate", "-no-color"])));
    tally.check("files of at most 80 lines", short_files(&source));
    let tflint = target().join("tools/tflint");
    let config = format!("--config={}", place.join(".tflint.hcl").display());
    tally.check("tflint", succeed(Command::new(tflint).args(["--recursive", &config]).current_dir(&place)));
    let mut scan = Command::new(checkov);
    tally.check(
        "checkov",
        succeed(scan.args(["--config-file", ".checkov.yaml", "--directory", "."]).current_dir(&place)),
    );
    let leave = place.join("env/destroy");
    tally.check("what may not be given up", protection::run(&place.join("modules/protection"), &leave));
    init(&place, "tests/kept")?;
    tally.check("a destruction that is refused destroys nothing", protection::refused(terraform(&place)));
    protection::lift(&place)?;
    init(&place, "env")?;
    for name in ["dev", "prod", "recovery"] {
        tally.check(&format!("env/{name}"), render(&place, name));
    }
    init(&place, "tests")?;
    tally += tested(&place)?;
    tally += account.join().map_err(|_| "the account has panicked".to_owned())??;
    Ok(tally)
}

/// What deploys it all into an account in memory, uses it, and destroys it. The schema is that of the provider that was installed.
fn account(place: &Path) -> Result<Command, String> {
    let infra = workspace().join("infra");
    let programs = environment("account", &infra.join("tests/account/requirements.txt"))?;
    build_programs()?;
    // With a page and functions that are none.
    let release = infra.join("tests/release");
    let archive = archive::pack(&release.join("page"), &release.join("functions-arm64.zip"), &folder().join("aws"))?;
    let schema = folder().join("schema.json");
    let told = output(terraform(place).args(["providers", "schema", "-json"]))?;
    write(&schema, told)?;
    let mut account = Command::new(programs.join("python"));
    // What Python keeps of its modules has no place beside them.
    account.env("PYTHONDONTWRITEBYTECODE", "1").arg(infra.join("tests/account/account.py")).arg(archive);
    account.arg(workspace().join("docs/aws.md")).arg(schema);
    account.arg(target().join("debug")).arg(target().join("tools"));
    Ok(account)
}

/// What is tested is a copy: Terraform writes beside what it works on, and an operator's state has no place in a test.
fn copy() -> Result<PathBuf, String> {
    let place = folder().join("copy");
    fresh(&place)?;
    archive::copy_folder(&workspace().join("infra"), &place)?;
    Ok(place)
}

/// Installs the provider, and the modules that the tests of a folder use.
fn init(place: &Path, tests: &str) -> Result<(), String> {
    let mut command = terraform(place);
    command.args(["init", "-backend=false", "-input=false", "-no-color"]).arg(format!("-test-directory={tests}"));
    let done = succeed(command.stdout(Stdio::null()));
    done.map_err(|reason| {
        format!(
            "{reason}\nTerraform needs the provider hashicorp/aws 6.40 or a later 6: from registry.terraform.io, which has to be \
             within reach, or from a mirror that the file names which TF_CLI_CONFIG_FILE names"
        )
    })
}

/// Runs an example's test; what each run has deployed stays as `<name>.json`, a message in each line.
fn render(place: &Path, name: &str) -> Result<(), String> {
    let mut command = terraform(place);
    command.args(["test", "-no-color", "-json", "-verbose", "-test-directory=env"]);
    command.arg(format!("-filter=env/{name}.tftest.hcl"));
    let variables = format!("env/{name}.tfvars.example");
    if place.join(&variables).is_file() {
        command.arg(format!("-var-file={variables}"));
    }
    let told = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
    if !told.status.success() {
        let told = String::from_utf8_lossy(&told.stdout);
        let reasons: Vec<&str> = told.lines().filter(|line| line.contains("\"diagnostic\"")).collect();
        return Err(reasons.join("\n"));
    }
    write(&folder().join(format!("{name}.json")), told.stdout)
}

/// Runs the tests of Terraform, and counts them.
fn tested(place: &Path) -> Result<Tally, String> {
    let told = output(terraform(place).args(["test", "-no-color"]).stderr(Stdio::inherit()));
    let told = told.inspect_err(|_| eprintln!("in {}", place.display()));
    let mut tally = Tally::default();
    match told {
        Ok(text) => text.lines().for_each(|line| {
            println!("{line}");
            tally.read(line.trim_start_matches("Success! ").trim_end_matches('.'));
        }),
        Err(reason) => return Err(format!("{reason}: terraform -chdir=infra test says why")),
    }
    if tally == Tally::default() { Err("terraform test reported no count".to_owned()) } else { Ok(tally) }
}

/// A module is small: what grows is divided.
fn short_files(folder: &Path) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() && !path.file_name().unwrap_or_default().to_string_lossy().starts_with('.') {
            short_files(&path)?;
        } else if path.extension() == Some(OsStr::new("tf")) {
            let lines = text(&path)?.lines().count();
            if lines > 80 {
                return Err(format!("{} has {lines}", path.display()));
            }
        }
    }
    Ok(())
}

/// Terraform in a folder, with what it installs in the target directory.
fn terraform(folder_of: &Path) -> Command {
    let mut command = Command::new("terraform");
    command.current_dir(folder_of).env("TF_DATA_DIR", folder().join("data")).env("CHECKPOINT_DISABLE", "1");
    command
}

/// Where everything goes.
fn folder() -> PathBuf {
    target().join("infra")
}
