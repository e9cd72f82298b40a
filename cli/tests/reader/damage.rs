//! The reader, natively, on a damaged repository: whatever happens to any one object, it does not panic, and what it brings back is
//! as it was or is named.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::wasi::files;
use crate::kit::copy;
use copal_format::id::ObjectHash;
use copal_reader::{Streams, run};
use tempfile::TempDir;

#[test]
fn whatever_is_deleted_everything_is_restored_or_the_loss_is_told() {
    harmed(|file, _| fs::remove_file(file).unwrap());
}

#[test]
fn whatever_is_cut_off_everything_is_restored_or_the_loss_is_told() {
    harmed(|file, bytes| fs::write(file, &bytes[..bytes.len() / 2]).unwrap());
}

#[test]
fn whichever_byte_is_changed_everything_is_restored_or_the_loss_is_told() {
    harmed(|file, bytes| {
        let mut bytes = bytes.to_vec();
        // Another place in each object.
        let at = ObjectHash::of(&bytes).0[..4].iter().fold(0, |at, byte| at << 8 | usize::from(*byte)) % bytes.len();
        bytes[at] ^= 0x10;
        fs::write(file, bytes).unwrap();
    });
}

#[test]
fn whatever_is_replaced_by_noise_everything_is_restored_or_the_loss_is_told() {
    harmed(|file, bytes| fs::write(file, bytes.iter().rev().copied().collect::<Vec<u8>>()).unwrap());
}

/// Does something to each object of the golden repository, one after another, and restores its newest snapshot.
fn harmed(harm: impl Fn(&Path, &[u8])) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let directory = TempDir::new().unwrap();
    let repository = directory.path().join("repository");
    copy(&golden.join("repository"), &repository);
    let (code, listed, _) = read(&golden, &["list".into(), repository.clone().into()]);
    assert_eq!(code, 0);
    let newest = String::from_utf8(listed).unwrap().lines().rfind(|line| !line.ends_with("(forgotten)")).unwrap()[..32]
        .to_owned();
    let restore: Vec<OsString> =
        vec!["restore".into(), repository.clone().into(), "--tar=-".into(), "--snapshot".into(), newest.into()];
    let (code, whole, messages) = read(&golden, &restore);
    assert_eq!(code, 0, "{messages}");
    let mut told = 0;
    for object in files(&repository) {
        let bytes = fs::read(&object).unwrap();
        // Objects are made without the right to be written.
        fs::remove_file(&object).unwrap();
        fs::write(&object, &bytes).unwrap();
        harm(&object, &bytes);
        let (code, out, messages) = read(&golden, &restore);
        match code {
            0 => assert!(out == whole, "{}: another archive, and nothing is said", object.display()),
            4 => told += 1,
            code => panic!("{}: exit code {code}: {messages}", object.display()),
        }
        let _ = fs::remove_file(&object);
        fs::write(&object, &bytes).unwrap();
    }
    assert!(told > 10, "{told} harms are told");
}

fn read(golden: &Path, arguments: &[OsString]) -> (u8, Vec<u8>, String) {
    let (mut output, mut messages) = (Vec::new(), Vec::new());
    let key = [OsString::from("--key-file"), golden.join("key.txt").into()];
    let arguments = [arguments, &key].concat();
    let code = run(&arguments, Streams { input: &mut std::io::empty(), output: &mut output, messages: &mut messages });
    (code, output, String::from_utf8_lossy(&messages).into_owned())
}
