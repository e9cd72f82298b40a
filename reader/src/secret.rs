//! Secret: reads the secret that opens the repository, from a file or the terminal.

use std::fs::File;
use std::io::Read;

use copal_format::keys::slot::SlotInput;
use zeroize::Zeroizing;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::report::Report;

/// The names of secrets in messages.
pub(crate) const PASSPHRASE: &str = "passphrase";
const RECOVERY_CODE: &str = "recovery code";
const KEY_FILE: &str = "key file";

/// Reads the secret from the file in the arguments, or from the first line of the input.
pub(crate) fn read(arguments: &Arguments, input: &mut dyn Read, report: &mut Report<'_>) -> Result<SlotInput, Failure> {
    let (kind, file) = match (&arguments.key_file, &arguments.password_file) {
        (Some(path), _) => (KEY_FILE, Some(path)),
        (None, Some(path)) => (PASSPHRASE, Some(path)),
        (None, None) => (PASSPHRASE, None),
    };
    let bytes = match file {
        Some(path) => {
            let read = File::open(path).and_then(|mut file| bounded(&mut file, false));
            read.map_err(|error| Failure::BadSecret { kind, why: format!("{path:?}: {error}") })?
        }
        None => {
            report.ask("Passphrase or recovery code (shown while it is typed): ");
            bounded(input, true)?
        }
    };
    if bytes.is_empty() {
        return Err(Failure::NoSecret);
    }
    parse(kind, &bytes)
}

pub(crate) fn name(input: &SlotInput) -> &'static str {
    match input {
        SlotInput::Passphrase(_) => PASSPHRASE,
        SlotInput::RecoveryCode(_) => RECOVERY_CODE,
        SlotInput::KeyFile(_) => KEY_FILE,
    }
}

/// The prefix of a recovery code or key decides, not the source of the text.
fn parse(kind: &'static str, bytes: &[u8]) -> Result<SlotInput, Failure> {
    let bad = |kind, why: String| Failure::BadSecret { kind, why };
    let text = core::str::from_utf8(bytes).map_err(|_| bad(kind, "it is no text in UTF-8".to_owned()))?;
    let text = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
    let begins = |prefix: &str| text.trim_start().get(..prefix.len()).is_some_and(|s| s.eq_ignore_ascii_case(prefix));
    if begins("copal-recovery-") {
        SlotInput::recovery_code(text).map_err(|error| bad(RECOVERY_CODE, error.to_string()))
    } else if begins("copal-key-") || kind == KEY_FILE {
        SlotInput::key_file(text).map_err(|error| bad(KEY_FILE, error.to_string()))
    } else {
        SlotInput::passphrase(text).map_err(|error| bad(PASSPHRASE, error.to_string()))
    }
}

/// Reads to the end, or to the end of the line, into memory that never moves and is wiped.
fn bounded(input: &mut dyn Read, is_line: bool) -> std::io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(SECRET_MAX));
    let mut byte = Zeroizing::new([0]);
    while input.read(&mut byte[..])? == 1 {
        if bytes.len() == SECRET_MAX {
            return Err(std::io::Error::other("it is longer than 64 KiB"));
        }
        bytes.push(byte[0]);
        if is_line && byte[0] == b'\n' {
            break;
        }
    }
    Ok(bytes)
}

const SECRET_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_end_is_no_part_of_a_passphrase() {
        let plain = parse(PASSPHRASE, b" correct horse").unwrap();
        for text in [" correct horse\n", " correct horse\r\n"] {
            assert_eq!(parse(PASSPHRASE, text.as_bytes()).unwrap(), plain);
        }
        assert_ne!(parse(PASSPHRASE, b"correct horse").unwrap(), plain);
    }

    #[test]
    fn what_cannot_be_a_secret_is_named_and_not_shown() {
        for (bytes, kind) in [(&b"\xff"[..], PASSPHRASE), (b"copal-recovery-1-abc", RECOVERY_CODE), (b"\n", PASSPHRASE)]
        {
            let error = parse(PASSPHRASE, bytes).unwrap_err().to_string();
            assert!(error.contains(kind) && !error.contains("abc"), "{error}");
        }
        assert!(parse(KEY_FILE, b"hunter2").is_err());
    }

    #[test]
    fn one_line_is_read_and_not_more() {
        let mut input: &[u8] = b"word\nnext";
        assert_eq!(*bounded(&mut input, true).unwrap(), b"word\n");
        assert_eq!(input, b"next");
        let mut endless = std::io::repeat(b'x');
        assert!(bounded(&mut endless, true).is_err());
    }
}
