//! The reader as a program: `wasmtime run --dir REPOSITORY --dir TARGET reader.wasm restore REPOSITORY TARGET`.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let streams =
        copal_reader::Streams { input: &mut io::stdin(), output: &mut io::stdout(), messages: &mut io::stderr() };
    ExitCode::from(copal_reader::run(&arguments, streams))
}
