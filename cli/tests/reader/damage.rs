//! The reader, natively, on a damaged repository: whatever happens to any one object, it does not panic, and what it brings back is
//! as it was or is named.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::kit::{copy, files};
use copal_format::id::ObjectHash;
use copal_format::path::TreePath;
use copal_format::shown;
use copal_reader::archive::{BLOCK, padding};
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
    let expected = members(&whole);
    assert!(expected.len() > 100, "{} entries", expected.len());
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
            4 => {
                told += 1;
                assert_told(&object, &expected, &out, &messages);
            }
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

/// Every entry came out as it was, or a message names it.
#[track_caller]
fn assert_told(object: &Path, whole: &Members, out: &[u8], messages: &str) {
    let object = object.display().to_string();
    if messages.lines().any(|line| line.starts_with("error: ")) {
        // Only the loss of its manifest is the loss of the whole snapshot.
        assert!(object.contains("/manifests/") && out.is_empty(), "{object}: {messages}");
        return;
    }
    let (found, lost) = (members(out), lost_ranges(whole, messages));
    let is_lost = |path: &TreePath| {
        let is_in = |(after, through): &(Option<TreePath>, Option<TreePath>)| {
            after.as_ref().is_none_or(|after| after < path) && through.as_ref().is_none_or(|through| path <= through)
        };
        lost.iter().any(is_in)
    };
    for (path, member) in whole {
        let named = format!("not wholly restored: /{}: ", shown::path(path.as_bytes()));
        let is_told = messages.lines().any(|line| line.starts_with(&named)) || is_lost(path);
        assert!(found.get(path) == Some(member) || is_told, "{object}: {path} is not as it was:\n{messages}");
    }
    assert!(found.keys().all(|path| whole.contains_key(path)), "{object}: more came out than was saved");
}

/// The ranges that messages name as lost: the path before each, and its last path.
fn lost_ranges(whole: &Members, messages: &str) -> Vec<(Option<TreePath>, Option<TreePath>)> {
    let named = whole.keys().map(|path| (format!("/{}", shown::path(path.as_bytes())), Some(path.clone())));
    let others = [("/", Some(TreePath::default())), ("the start", None), ("the end", None)];
    let others = others.map(|(name, path)| (name.to_owned(), path));
    let ends: Vec<(String, Option<TreePath>)> = named.chain(others).collect();
    // A path may begin with another one: the longest that fits is meant.
    let end = |text: &str, sign: &str| {
        let fits = |name: &str| text.strip_prefix(name).is_some_and(|rest| rest.starts_with(sign));
        let found = ends.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| name.len());
        let (name, path) = found.unwrap_or_else(|| panic!("no entry is named in {text}"));
        (path.clone(), name.len() + sign.len())
    };
    let ranges = messages.lines().filter_map(|line| line.strip_prefix("lost: entries behind "));
    let ends_of = |range: &str| {
        let (after, length) = end(range, " up to ");
        (after, end(&range[length..], ": ").0)
    };
    ranges.map(ends_of).collect()
}

/// What an archive holds.
type Members = BTreeMap<TreePath, Member>;

/// The records of a member, by their names.
type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// All that an archive tells of an entry, but for its name.
#[derive(Clone, PartialEq)]
struct Member {
    kind: u8,
    /// The fixed fields: mode, owner, time, names of the owner, device.
    fixed: Vec<u8>,
    link: Vec<u8>,
    records: Records,
    content: Vec<u8>,
}

/// Takes a whole archive apart. Another name of a file is the file once more.
fn members(archive: &[u8]) -> Members {
    let mut members = Members::new();
    let (mut rest, mut records) = (archive, Records::new());
    // The end is a block of zeros.
    while rest[0] != 0 {
        let (head, behind) = rest.split_at(BLOCK);
        let size = records.remove(b"size".as_slice());
        let length = size.map_or_else(|| number(&head[124..136], 8), |digits| number(&digits, 10));
        let content = &behind[..length];
        rest = &behind[length + padding(length as u64)..];
        if head[156] == b'x' {
            records = records_in(content);
            continue;
        }
        let mut records = std::mem::take(&mut records);
        let mut text = |key: &[u8], field: &[u8]| {
            let field = field.split(|byte| *byte == 0).next().unwrap_or_default();
            records.remove(key).unwrap_or_else(|| field.to_vec())
        };
        let path = tree_path(&text(b"path", &head[..100]));
        let link = text(b"linkpath", &head[157..257]);
        records.remove(b"hdrcharset".as_slice());
        let fixed = [&head[100..124], &head[136..148], &head[265..345]].concat();
        let member = match head[156] {
            b'1' => members[&tree_path(&link)].clone(),
            kind => Member { kind, fixed, link, records, content: content.to_vec() },
        };
        members.insert(path, member);
    }
    members
}

/// Records, each `LENGTH KEY=VALUE` and a line end.
fn records_in(mut bytes: &[u8]) -> Records {
    let mut records = Records::new();
    while !bytes.is_empty() {
        let blank = bytes.iter().position(|byte| *byte == b' ').unwrap();
        let (record, rest) = bytes.split_at(number(&bytes[..blank], 10));
        let text = &record[blank + 1..record.len() - 1];
        let equals = text.iter().position(|byte| *byte == b'=').unwrap();
        records.insert(text[..equals].to_vec(), text[equals + 1..].to_vec());
        bytes = rest;
    }
    records
}

fn tree_path(name: &[u8]) -> TreePath {
    let name = name.strip_suffix(b"/").unwrap_or(name);
    TreePath::new(if name == b"." { b"".as_slice() } else { name }).unwrap()
}

/// A number in digits of this base, without the signs around it.
fn number(text: &[u8], base: usize) -> usize {
    text.iter().filter(|sign| sign.is_ascii_digit()).fold(0, |number, digit| base * number + usize::from(digit - b'0'))
}
