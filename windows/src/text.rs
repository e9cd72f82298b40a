//! Text: words of the system as bytes, and back.

use std::ffi::{OsStr, OsString};
use std::os::windows::ffi::{OsStrExt, OsStringExt};

use crate::wtf8;

/// The bytes of a text of the system, without loss.
pub fn bytes(text: &OsStr) -> Vec<u8> {
    wtf8::encode(text.encode_wide())
}

/// The text of some bytes; U+FFFD stands for bytes that are no text.
pub fn os_string(bytes: &[u8]) -> OsString {
    match wtf8::decode(bytes) {
        Some(units) => OsString::from_wide(&units),
        None => String::from_utf8_lossy(bytes).into_owned().into(),
    }
}
