//! Prove: the script that shows on macOS and FreeBSD what compiling for them cannot show. Here all of it holds, so what it
//! says there is true of that system and not of the script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::kit::COPAL;

/// Runs the script with a program; gives what the script prints, and whether it ends with exit code 0.
fn prove(program: &Path) -> (String, bool) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/prove-on-unix.sh");
    let output = Command::new("sh").arg(script).arg(program).output().unwrap();
    (String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr), output.status.success())
}

/// A program like the command, with what is done to the new tree after each restore.
fn spoiling(how: &str) -> (String, bool) {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("copal");
    let text = format!(
        "#!/bin/sh\n'{COPAL}' \"$@\" || exit $?\n\
         if [ \"$1\" = restore ]; then\n    while [ \"$1\" != --target ]; do shift; done\n    \
         cd \"$(find \"$2\" -name source -type d | head -n 1)\" || exit\n    {how}\nfi\n"
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    prove(&program)
}

#[test]
fn everything_is_proven_here() {
    let (told, is_content) = prove(Path::new(COPAL));
    assert!(is_content, "{told}");
    assert_eq!(told.lines().filter(|line| line.starts_with("proven")).count(), 14, "{told}");
    assert!(told.ends_with("0 not proven\n"), "{told}");
}

#[test]
fn what_a_restore_loses_is_seen() {
    for (how, what) in [
        ("chmod 4510 closed", "kinds, modes, times, links"),
        ("touch -h link", "kinds, modes, times, links"),
        ("setfattr -x user.note closed", "extended attributes"),
        ("cp --sparse=never -p sparse x && mv x sparse", "holes"),
        ("find . -name deep -delete", "a long path"),
        ("chmod u+w closed && printf x >>sparse", "content with a hole"),
    ] {
        let (told, is_content) = spoiling(how);
        assert!(!is_content && told.contains(&format!("FAILED  {what}\n")), "{how}: {told}");
    }
}
