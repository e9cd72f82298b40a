//! The transcripts in `tests/cmd`, which are documentation: each runs as it stands there, in a directory of its own that
//! begins as the `.in` beside it.

use std::path::Path;

use trycmd::TestCases;

#[test]
fn transcripts_with_a_passphrase_show_what_the_command_says() {
    transcripts(&["tests/cmd/backup.md", "tests/cmd/keys.md"], "");
}

#[test]
fn transcripts_with_a_key_file_show_what_the_command_says() {
    transcripts(&["tests/cmd/forget.md", "tests/cmd/problems.md"], "key");
}

fn transcripts(files: &[&str], key_file: &str) {
    let cases = TestCases::new();
    cases.register_bin("copal", Path::new(env!("CARGO_BIN_EXE_copal")));
    cases.register_bins(["cp", "rm"].map(|tool| (tool, Path::new("/bin").join(tool))));
    for (name, value) in [
        ("COPAL_REPOSITORY", "repository"),
        ("COPAL_PASSWORD", "correct horse"),
        ("COPAL_KEY_FILE", key_file),
        ("COPAL_HOST", "laptop"),
        ("COPAL_STATE_DIR", "state"),
        ("COPAL_CACHE_DIR", "cache"),
        ("TZ", "UTC"),
    ] {
        cases.env(name, value);
    }
    files.iter().for_each(|file| {
        cases.case(file);
    });
}
