//! The probe: runs the exercise inside WebAssembly. The module imports nothing, so a host can only look at its memory.
#![allow(unsafe_code)] // Reason: an export's name is an unsafe attribute; there is no unsafe code here.

use std::sync::OnceLock;

mod exercise;

static REPORT: OnceLock<String> = OnceLock::new();

/// Runs the exercise; gives the address of its report, in UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn copal_probe_report() -> *const u8 {
    report().as_ptr()
}

/// The report's length in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn copal_probe_length() -> usize {
    report().len()
}

fn report() -> &'static str {
    REPORT.get_or_init(exercise::report)
}
