//! The script with which an operator proves what only AWS can show, as far as this machine's servers can be asked.

use std::path::Path;
use std::process::{Command, Output};

use copal_tests::kit::s3::{Kind, Server, lenient, tools};

#[test]
fn versitygw_creates_once() {
    is_proven(&Server::start(Kind::Versity), &["--only", "create-only"], 6);
}

#[test]
fn minio_creates_once_and_keeps_what_is_locked() {
    is_proven(&Server::start(Kind::Minio), &["--only", "create-only", "--only", "object-lock"], 9);
}

fn is_proven(server: &Server, parts: &[&str], claims: u32) {
    let proof = prove(server, &server.endpoint(), parts);
    let said = String::from_utf8_lossy(&proof.stdout);
    let is_all = said.ends_with(&format!("\n{claims} passed, 0 failed\n"));
    assert!(proof.status.success() && is_all, "{said}{}", String::from_utf8_lossy(&proof.stderr));
}

#[test]
fn a_server_that_replaces_objects_fails_the_proof() {
    let server = Server::start(Kind::Versity);
    let lenient = lenient(&["if-none-match"]);
    let proof = prove(&server, &lenient.url(), &["--only", "create-only"]);
    let said = String::from_utf8_lossy(&proof.stdout);
    for claim in ["a name that is there is not created again", "of eight who create a name at once one does"] {
        assert!(said.contains(&format!("FAILED  {claim}")), "{said}");
    }
    assert!(!proof.status.success());
}

#[test]
fn a_part_that_is_none_proves_nothing() {
    let server = Server::start(Kind::Versity);
    assert!(!prove(&server, &server.endpoint(), &["--only", "object lock"]).status.success());
}

/// Runs the script with the AWS CLI that `cargo xtask tools` has installed.
fn prove(server: &Server, endpoint: &str, arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().expect("a temporary directory");
    let programs = tools().with_file_name("aws-cli").join("bin");
    assert!(programs.join("aws").exists(), "{} is missing: \"cargo xtask tools\" makes it", programs.display());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path)));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/aws-proof.sh");
    let mut command = Command::new("bash");
    command.arg(script).arg("us-east-1").args(arguments).env_clear().envs(server.environment());
    command.env("AWS_ENDPOINT_URL_S3", endpoint).env("HOME", home.path()).env("TMPDIR", home.path());
    command.env("PATH", path.expect("no folder's name has a colon")).output().expect("bash is a program")
}
