//! Agree: yes-or-no questions to the person at the terminal.

use std::fs::OpenOptions;
use std::io::{Read, Write};

/// Asks the person at the terminal; returns false unless the answer is yes, or without a terminal.
pub fn agrees(question: &str) -> bool {
    let Ok(mut terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else { return false };
    let mut answer = [0; 64];
    let asked = write!(terminal, "{question} [y/N] ").and_then(|()| terminal.read(&mut answer));
    asked.is_ok_and(|length| answer[..length].trim_ascii().eq_ignore_ascii_case(b"y"))
}
