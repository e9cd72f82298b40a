//! The scripted session, for hosts that can only look at the module's memory: it imports nothing.
#![allow(unsafe_code)] // Reason: an export's name is an unsafe attribute; there is no unsafe code here.

use std::sync::OnceLock;

mod script;

static REPORT: OnceLock<String> = OnceLock::new();

/// Runs the session; gives the address of its report, in UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn copal_session_report() -> *const u8 {
    report().as_ptr()
}

/// The report's length in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn copal_session_length() -> usize {
    report().len()
}

fn report() -> &'static str {
    REPORT.get_or_init(script::report)
}
