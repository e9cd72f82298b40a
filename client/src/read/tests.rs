use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, lsetxattr, mkdirat, mknodat, openat};

use super::*;

fn place() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().canonicalize().unwrap();
    (place, path)
}

fn content(file: &mut SourceFile, piece: usize) -> Vec<u8> {
    let mut content = Vec::new();
    loop {
        let mut buffer = Vec::with_capacity(piece);
        let got = file.read(&mut buffer).unwrap();
        assert_eq!(got, buffer.len());
        content.extend_from_slice(&buffer);
        if got < piece {
            return content;
        }
    }
}

/// 1 MiB of hole, 64 KiB of content, 1 MiB of hole, 64 KiB of content, 1 MiB of hole.
fn write_sparse(path: &Path) -> Vec<u8> {
    let mut file = File::create(path).unwrap();
    let (one, two) = (vec![1; 64 << 10], vec![2; 64 << 10]);
    file.write_all_at(&one, 1 << 20).unwrap();
    file.seek(SeekFrom::Start((2 << 20) + (64 << 10))).unwrap();
    file.write_all(&two).unwrap();
    file.set_len((3 << 20) + (128 << 10)).unwrap();
    [one, two].concat()
}

#[test]
fn content_does_not_depend_on_the_size_of_the_buffer() {
    let (_place, path) = place();
    let expected: Vec<u8> = (0..10_000u32).map(|i| (i * 31 % 251) as u8).collect();
    fs::write(path.join("file"), &expected).unwrap();
    for piece in [1, 7, 4096, 9_999, 10_000, 10_001, 100_000] {
        let mut file = SourceFile::open(&path.join("file")).unwrap();
        assert_eq!(content(&mut file, piece), expected, "piece {piece}");
        let ending = file.finish().unwrap();
        assert!(!ending.changed && ending.delivered == 10_000 && ending.holes.is_empty());
    }
}

#[test]
fn a_small_file_is_read_at_once() {
    let (_place, path) = place();
    let mut buffer = b"from before".to_vec();
    for expected in [b"".as_slice(), b"hello"] {
        fs::write(path.join("file"), expected).unwrap();
        let mut file = SourceFile::open(&path.join("file")).unwrap();
        file.read_whole(&mut buffer).unwrap();
        assert_eq!(buffer, expected);
        assert!(!file.finish().unwrap().changed);
    }
}

#[test]
fn holes_are_found_and_left_out() {
    let (_place, path) = place();
    let expected = write_sparse(&path.join("sparse"));
    let mut file = SourceFile::open(&path.join("sparse")).unwrap();
    assert_eq!(file.remaining(), expected.len() as u64);
    assert_eq!(content(&mut file, 50_000), expected);
    let ending = file.finish().unwrap();
    let offsets: Vec<_> = ending.holes.iter().map(|hole| (hole.start, hole.end - hole.start)).collect();
    assert_eq!(offsets, [(0, 1 << 20), ((1 << 20) + (64 << 10), 1 << 20), ((2 << 20) + (128 << 10), 1 << 20)]);
    assert!(!ending.changed);
}

#[test]
fn a_file_of_nothing_but_a_hole_has_no_content() {
    let (_place, path) = place();
    File::create(path.join("hole")).unwrap().set_len(5 << 20).unwrap();
    let mut file = SourceFile::open(&path.join("hole")).unwrap();
    assert_eq!(content(&mut file, 100), b"");
    assert_eq!(file.finish().unwrap().holes, std::slice::from_ref(&(0..5 << 20)));
}

#[test]
fn a_file_that_grows_shrinks_or_is_rewritten_meanwhile_is_reported() {
    let (_place, path) = place();
    let path = path.join("file");
    type Change = fn(&Path);
    let changes: [(Change, u64); 3] = [
        (|path| File::options().append(true).open(path).unwrap().write_all(b"more").unwrap(), 10_000),
        (|path| File::options().write(true).open(path).unwrap().set_len(5_000).unwrap(), 5_000),
        (|path| File::options().write(true).open(path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap(), 10_000),
    ];
    for (change, delivered) in changes {
        fs::write(&path, vec![7; 10_000]).unwrap();
        let mut file = SourceFile::open(&path).unwrap();
        file.read(&mut Vec::with_capacity(100)).unwrap();
        change(&path);
        content(&mut file, 4096);
        let ending = file.finish().unwrap();
        assert!(ending.changed && ending.delivered == delivered, "{ending:?}");
    }
}

#[test]
fn a_file_that_shrinks_loses_the_holes_behind_its_end() {
    let (_place, path) = place();
    let path = path.join("sparse");
    let expected = write_sparse(&path);
    let mut file = SourceFile::open(&path).unwrap();
    File::options().write(true).open(&path).unwrap().set_len((1 << 20) + 5_000).unwrap();
    assert_eq!(content(&mut file, 4096), expected[..5_000]);
    let ending = file.finish().unwrap();
    assert!(ending.changed && ending.delivered == 5_000);
    assert_eq!(ending.holes, std::slice::from_ref(&(0..1 << 20)), "where it ends now: {ending:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_size_is_not_told_is_read_to_its_end_unless_that_is_far() {
    let told = fs::read("/proc/version").unwrap();
    assert_eq!(fs::metadata("/proc/version").unwrap().len(), 0);
    let mut file = SourceFile::open(Path::new("/proc/version")).unwrap();
    let mut read = Vec::new();
    file.read_whole(&mut read).unwrap();
    let ending = file.finish().unwrap();
    assert_eq!((read, ending.delivered, ending.changed), (told.clone(), told.len() as u64, false));
    // A table of eight bytes for each page that the process could have.
    let mut endless = SourceFile::open(Path::new(&format!("/proc/{}/pagemap", std::process::id()))).unwrap();
    endless.read_whole(&mut Vec::new()).unwrap();
    assert!(endless.finish().unwrap_err().to_string().contains("1 MiB"));
}

#[test]
fn a_fifo_in_the_place_of_a_file_is_refused_without_waiting() {
    let (_place, path) = place();
    mknodat(CWD, path.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    assert!(matches!(SourceFile::open(&path.join("fifo")), Err(OpenError::Kind)));
    assert!(matches!(SourceFile::open(&path), Err(OpenError::Kind)));
}

#[test]
fn a_link_in_the_place_of_a_file_or_directory_is_refused() {
    let (_place, path) = place();
    fs::create_dir(path.join("directory")).unwrap();
    fs::write(path.join("directory/file"), "secret").unwrap();
    symlink("directory", path.join("link")).unwrap();
    symlink("directory/file", path.join("file")).unwrap();
    assert!(matches!(SourceFile::open(&path.join("link/file")), Err(OpenError::Io(_))));
    assert!(matches!(SourceFile::open(&path.join("file")), Err(OpenError::Io(_))));
}

#[test]
fn attributes_come_by_name_with_any_value() {
    let (_place, path) = place();
    let file = path.join("file");
    fs::write(&file, "").unwrap();
    fs::create_dir(path.join("directory")).unwrap();
    let values: [(&str, &[u8]); 4] =
        [("user.b", b"two"), ("user.a", b"\0\xff"), ("user.empty", b""), ("user.long", &[5; 3_000])];
    for (name, value) in values {
        lsetxattr(&file, name, value, XattrFlags::empty()).unwrap();
        lsetxattr(path.join("directory"), name, value, XattrFlags::empty()).unwrap();
    }
    let expected = ["user.a", "user.b", "user.empty", "user.long"];
    for extras in
        [SourceFile::open(&file).unwrap().extras(), Extras::read(&file), Extras::read(&path.join("directory"))]
    {
        assert!(extras.unreadable.is_empty());
        assert_eq!(extras.xattrs.iter().map(|(name, _)| str::from_utf8(name).unwrap()).collect::<Vec<_>>(), expected);
        assert_eq!(extras.xattrs[0].1, b"\0\xff");
        assert_eq!(extras.xattrs[3].1, [5; 3_000]);
    }
}

#[test]
fn an_acl_is_an_attribute() {
    let (_place, path) = place();
    fs::write(path.join("file"), "").unwrap();
    let acl = sample_acl();
    lsetxattr(path.join("file"), "system.posix_acl_access", &acl, XattrFlags::empty()).unwrap();
    let extras = Extras::read(&path.join("file"));
    assert_eq!(extras.xattrs, [(b"system.posix_acl_access".to_vec(), acl)]);
}

/// Version 2; owner rw, user 1234 r, group r, mask r, others nothing.
fn sample_acl() -> Vec<u8> {
    let entry = |tag: u16, permissions: u16, id: u32| {
        [tag.to_le_bytes().as_slice(), &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let nobody = u32::MAX;
    let entries =
        [entry(1, 6, nobody), entry(2, 4, 1234), entry(4, 4, nobody), entry(16, 4, nobody), entry(32, 0, nobody)];
    [2u32.to_le_bytes().as_slice(), &entries.concat()].concat()
}

#[test]
fn the_attributes_of_a_link_are_not_those_of_its_target() {
    let (_place, path) = place();
    fs::write(path.join("file"), "").unwrap();
    lsetxattr(path.join("file"), "user.a", b"1", XattrFlags::empty()).unwrap();
    symlink("file", path.join("link")).unwrap();
    assert!(Extras::read(&path.join("link")).xattrs.iter().all(|(name, _)| name != b"user.a"));
}

#[test]
fn a_link_says_where_it_points_whether_or_not_anything_is_there() {
    let (_place, path) = place();
    for target in [b"nowhere/at all".as_slice(), b"\xff\xfe", &[b'x'; 2_000]] {
        let link = path.join("link");
        symlink(std::ffi::OsStr::from_bytes(target), &link).unwrap();
        assert_eq!(link_target(&link).unwrap(), target);
        fs::remove_file(&link).unwrap();
    }
    assert!(link_target(&path).is_err());
}

#[test]
fn what_lies_deeper_than_the_kernel_takes_paths_is_read_all_the_same() {
    let (_place, path) = place();
    let name = "d".repeat(200);
    let (mut deep, mut at) = (path.clone(), open_directory(&path));
    for _ in 0..30 {
        mkdirat(&at, name.as_str(), Mode::RWXU).unwrap();
        at = openat(&at, name.as_str(), rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
        deep.push(&name);
    }
    let file = openat(&at, "file", rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY, Mode::RWXU).unwrap();
    File::from(file).write_all(b"deep").unwrap();
    rustix::fs::symlinkat("target", &at, "link").unwrap();
    let mut buffer = Vec::new();
    SourceFile::open(&deep.join("file")).unwrap().read_whole(&mut buffer).unwrap();
    assert_eq!(buffer, b"deep");
    assert_eq!(link_target(&deep.join("link")).unwrap(), b"target");
    assert!(Extras::read(&deep.join("file")).unreadable.is_empty());
}

fn open_directory(path: &Path) -> rustix::fd::OwnedFd {
    rustix::fs::open(path, rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap()
}

#[test]
fn owners_have_names_and_unknown_numbers_have_none() {
    let mut owners = Owners::default();
    assert_eq!(owners.user(0), "root");
    assert_eq!(owners.group(0), "root");
    assert_eq!(owners.user(4_000_000_123), "");
    assert_eq!(owners.group(4_000_000_123), "");
    assert_eq!(owners.user(0), "root", "asked twice");
}
