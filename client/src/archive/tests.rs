use super::*;

/// A header with its checksum, and a body.
fn member(name: &[u8], kind: u8, body: &[u8]) -> Vec<u8> {
    let mut block = [0; BLOCK];
    block[..name.len()].copy_from_slice(name);
    block[100..107].copy_from_slice(b"0000644");
    block[124..135].copy_from_slice(format!("{:011o}", body.len()).as_bytes());
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    let mut bytes = sealed(block).to_vec();
    bytes.extend_from_slice(body);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

fn sealed(mut block: [u8; BLOCK]) -> [u8; BLOCK] {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

/// A header of a member without content, with other bytes from `at` on.
fn header_with(name: &[u8], kind: u8, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut block: [u8; BLOCK] = *member(name, kind, b"").first_chunk().unwrap();
    block[at..at + bytes.len()].copy_from_slice(bytes);
    sealed(block).to_vec()
}

fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let length =
        (0..).find(|length: &usize| *length == key.len() + value.len() + 3 + length.to_string().len()).unwrap();
    [length.to_string().as_bytes(), b" ", key.as_bytes(), b"=", value, b"\n"].concat()
}

fn ended(parts: &[Vec<u8>]) -> Vec<u8> {
    [parts.concat(), vec![0; 2 * BLOCK]].concat()
}

/// All members and their content.
fn read(bytes: &[u8]) -> Result<Vec<(Member, Vec<u8>)>, ArchiveError> {
    let mut archive = Archive::new(bytes);
    let mut found = Vec::new();
    while let Some(member) = archive.next()? {
        let mut content = Vec::new();
        archive.read_to_end(&mut content)?;
        found.push((member, content));
    }
    Ok(found)
}

fn only(bytes: &[u8]) -> (Member, Vec<u8>) {
    let [only] = read(bytes).unwrap().try_into().unwrap();
    only
}

#[test]
fn records_come_before_fixed_fields_and_the_last_one_counts() {
    let records = [
        record("path", b"no"),
        record("path", "y\u{e9}s".as_bytes()),
        record("uid", b"3000000000"),
        record("mtime", b"-1.5"),
        record("SCHILY.xattr.user.a%3Db%25", b"\n=\0"),
        record("SCHILY.xattr.user.a", b"first"),
        record("SCHILY.xattr.user.a", b"last"),
        record("gname", b""),
    ];
    let archive = ended(&[member(b"x", b'x', &records.concat()), member(b"name", b'0', b"content")]);
    let (found, content) = only(&archive);
    assert_eq!((found.name, found.uid, found.mtime), ("y\u{e9}s".into(), 3_000_000_000, Time(-1_500_000_000)));
    let xattrs = [(b"user.a".to_vec(), b"last".to_vec()), (b"user.a=b%".to_vec(), b"\n=\0".to_vec())];
    assert_eq!((found.xattrs, content), (xattrs.to_vec(), b"content".to_vec()));
}

#[test]
fn an_acl_as_text_is_told_unless_it_is_an_attribute_too() {
    let has_acl = |records: &[Vec<u8>]| {
        only(&ended(&[member(b"x", b'x', &records.concat()), member(b"name", b'0', b"")])).0.has_acl
    };
    let text = |which: &str| record(&format!("SCHILY.acl.{which}"), b"user::rw-");
    let attribute = record("SCHILY.xattr.system.posix_acl_access", b"\x02\0\0\0");
    assert!(has_acl(&[text("access")]));
    assert!(!has_acl(&[text("access"), attribute.clone()]));
    assert!(has_acl(&[text("access"), text("default"), attribute]));
}

#[test]
fn records_for_all_members_count_until_others_do() {
    let global = member(b"g", b'g', &record("uname", b"all"));
    let own = member(b"x", b'x', &record("uname", b"own"));
    let archive = ended(&[global, member(b"a", b'0', b""), own, member(b"b", b'0', b""), member(b"c", b'0', b"")]);
    let users: Vec<_> = read(&archive).unwrap().into_iter().map(|(member, _)| member.user).collect();
    assert_eq!(users, [b"all", b"own", b"all"]);
}

#[test]
fn only_files_have_content_and_old_directories_end_in_a_slash() {
    let link = header_with(b"link", b'1', 124, b"00000000777");
    let archive = ended(&[link, member(b"old/", 0, b"2"), member(b"file", 0, b"1")]);
    let kinds: Vec<_> = read(&archive).unwrap().into_iter().map(|(member, content)| (member.kind, content)).collect();
    let expected = [
        (MemberKind::HardLink(vec![]), vec![]),
        (MemberKind::Directory, b"2".to_vec()),
        (MemberKind::File, b"1".to_vec()),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_block_that_is_no_header_is_told_with_the_member_before_it() {
    let mut link = member(b"a/link", b'1', b"");
    link.extend([b'x'; BLOCK]);
    let told = read(&ended(&[link])).unwrap_err().to_string();
    assert_eq!(told, "there is no header of a tar archive at byte 512, behind the member a/link");
}

#[test]
fn numbers_are_octal_or_binary() {
    let with = |uid: [u8; 8], mtime: [u8; 12]| {
        let mut block: [u8; BLOCK] = *member(b"a", b'0', b"").first_chunk().unwrap();
        block[108..116].copy_from_slice(&uid);
        block[136..148].copy_from_slice(&mtime);
        only(&ended(&[sealed(block).to_vec()])).0
    };
    let member = with(*b"  0017 \0", *b"00000000010\0");
    assert_eq!((member.uid, member.mtime), (15, Time::from_unix(8, 0)));
    let member = with([0x80, 0, 0, 0, 1, 0, 0, 0], [&[0xff; 11][..], &[0xfe]].concat().try_into().unwrap());
    assert_eq!((member.uid, member.mtime), (1 << 24, Time::from_unix(-2, 0)));
    let large = header_with(b"a", b'0', 124, &[0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3]);
    assert!(read(&ended(&[large])).is_err(), "2^64 + 3 bytes");
}

#[test]
fn an_archive_that_is_cut_off_anywhere_is_an_error() {
    let records = member(b"x", b'x', &record("path", b"name"));
    let archive = [member(b"a", b'0', &[1; 700]), records, member(b"b", b'0', b"content")].concat();
    for end in 0..archive.len() {
        assert!(read(&archive[..end]).is_err(), "{end}");
    }
    assert!(matches!(read(&archive), Err(ArchiveError::CutOff { .. })), "the end mark is missing");
    assert_eq!(read(&[archive, vec![0; BLOCK]].concat()).unwrap().len(), 2);
}

#[test]
fn whatever_byte_is_changed_nothing_panics_and_no_header_is_believed() {
    let sparse = record("GNU.sparse.map", b"0,2,600,1");
    let records = [record("GNU.sparse.size", b"700"), sparse, record("mtime", b"1.5")].concat();
    let archive = ended(&[member(b"x", b'x', &records), member(b"a", b'0', b"abc")]);
    let (found, content) = only(&archive);
    assert_eq!((found.size, found.holes, content), (700, vec![2..600, 601..700], b"abc".to_vec()));
    for at in 0..archive.len() {
        for bit in 0..8 {
            let mut changed = archive.clone();
            changed[at] ^= 1 << bit;
            let is_header = at < BLOCK || (2 * BLOCK..3 * BLOCK).contains(&at);
            let is_sum = |at: usize| (148..156).contains(&(at % BLOCK));
            assert!(read(&changed).is_err() || !is_header || is_sum(at), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn what_claims_to_be_long_takes_no_memory() {
    for kind in *b"LKxg" {
        let long = header_with(b"a", kind, 124, &[0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert!(matches!(read(&long), Err(ArchiveError::Malformed { .. })));
    }
    let map = b"99999999999\n".to_vec();
    let records = [record("GNU.sparse.major", b"1"), record("GNU.sparse.realsize", b"9")].concat();
    let archive = ended(&[member(b"x", b'x', &records), member(b"a", b'0', &[map, vec![0; 600]].concat())]);
    assert_eq!(only(&archive).0.fault, Some("its map of holes is too long"));
}

#[test]
fn headers_that_say_too_much_together_are_refused_and_those_for_all_members_replace_each_other() {
    let large = |key: &str, bytes| record(key, &vec![7; bytes]);
    let of_member = [member(b"p", b'x', &large("a", 9 << 20)), member(b"p", b'x', &large("b", 9 << 20))].concat();
    let of_all = member(b"p", b'g', &large("a", 2 << 20));
    let many: Vec<u8> = (0..2_000).flat_map(|at| record(&at.to_string(), b"v")).collect();
    for headers in [of_member, of_all, member(b"p", b'g', &many)] {
        let archive = ended(&[headers, member(b"file", b'0', b"")]);
        assert!(matches!(read(&archive), Err(ArchiveError::Malformed { .. })));
    }
    let again: Vec<Vec<u8>> = (0..50).map(|_| member(b"p", b'g', &large("a", 900 << 10))).collect();
    assert_eq!(read(&ended(&[again.concat(), member(b"file", b'0', b"")])).unwrap().len(), 1);
}

#[test]
fn maps_of_holes_that_do_not_fit_cost_only_their_member() {
    for (size, map) in [("4", "0,2,2,2,4,1"), ("9", "2,1,0,2"), ("2", "0,3"), ("9", "0,2"), ("9", "0"), ("9", "0,x")] {
        let records = [record("GNU.sparse.size", size.as_bytes()), record("GNU.sparse.map", map.as_bytes())].concat();
        let archive = ended(&[member(b"x", b'x', &records), member(b"a", b'0', b"abc"), member(b"b", b'0', b"b")]);
        let faults: Vec<_> = read(&archive).unwrap().into_iter().map(|(member, _)| member.fault.is_some()).collect();
        assert_eq!(faults, [true, false], "{size} {map}");
    }
    // A map in blocks of its own, of more parts than are held.
    let sparse = header_with(b"a", b'S', 482, &[1]);
    let mut more = [b'0'; BLOCK];
    let mut maps: Vec<u8> = std::iter::repeat_n(more, (1 << 20) / 21 + 2).flatten().collect();
    more[504] = 0;
    maps.extend(more);
    let archive = ended(&[sparse, maps, member(b"b", b'0', b"b")]);
    assert!(matches!(read(&archive), Err(ArchiveError::Malformed { .. })));
}

#[test]
fn content_is_never_taken_for_members_where_a_bad_header_hides_how_much_of_it_there_is() {
    let inner = member(b"smuggled", b'0', b"1");
    let of_no_size = header_with(b"large", b'0', 124, &[b'0'; 12]);
    let size = record("size", inner.len().to_string().as_bytes());
    let records = [b"99 path=short\n".to_vec(), size].concat();
    let archive = ended(&[member(b"x", b'x', &records), of_no_size, inner.clone()]);
    assert!(matches!(read(&archive), Err(ArchiveError::Malformed { .. })));
    // An old sparse file whose map goes on in the block that looks like a member.
    let sparse = header_with(b"sparse", b'S', 482, &[1]);
    let archive = ended(&[member(b"x", b'x', &record("GNU.sparse.size", b"none")), sparse, inner]);
    assert!(matches!(read(&archive), Err(ArchiveError::Malformed { .. })));
}

#[test]
fn numbers_that_are_none_cost_only_their_member_and_times_out_of_range_are_clamped() {
    let next = member(b"b", b'0', b"b");
    let records = [("mtime", &b"soon"[..]), ("mtime", b"1.x"), ("mtime", b"-"), ("uid", b"root"), ("gid", b"-2")];
    for (key, value) in records {
        let archive = ended(&[member(b"x", b'x', &record(key, value)), member(b"a", b'0', b"abc"), next.clone()]);
        let found = read(&archive).unwrap();
        assert!(found[0].0.fault.is_some() && found[1] == only(&ended(std::slice::from_ref(&next))), "{key}");
    }
    let archive = ended(&[member(b"x", b'x', b"99 path=short\n"), member(b"a", b'0', b"abc"), next.clone()]);
    assert_eq!(read(&archive).unwrap().iter().filter(|(member, _)| member.fault.is_some()).count(), 1);
    let archive = ended(&[member(b"nowhere", b'2', b""), next.clone()]);
    assert_eq!(read(&archive).unwrap().iter().filter(|(member, _)| member.fault.is_some()).count(), 1);
    for field in [100, 108, 116, 136, 329] {
        let found = read(&ended(&[header_with(b"a", b'3', field, b"none"), next.clone()])).unwrap();
        assert_eq!(
            found.iter().map(|(member, _)| member.fault.is_some()).collect::<Vec<_>>(),
            [true, false],
            "{field}"
        );
    }
    for (value, time) in [(&b"99999999999999999999.5"[..], i64::MAX), (b"-99999999999999999999", i64::MIN)] {
        let archive = ended(&[member(b"x", b'x', &record("mtime", value)), next.clone()]);
        assert_eq!(only(&archive).0.mtime, Time(time));
    }
}

#[test]
fn what_follows_the_end_mark_is_noticed() {
    let archive = ended(&[member(b"a", b'0', b"a")]);
    let behind = |bytes: &[u8]| {
        let mut archive = Archive::new(bytes);
        while archive.next().unwrap().is_some() {}
        archive.behind()
    };
    assert_eq!(behind(&[&archive[..], &[0; 100_000]].concat()), None);
    assert_eq!(behind(&[&archive[..], &[0; 100_000], b"x"].concat()), Some(archive.len() as u64 + 100_000));
    assert_eq!(behind(&archive.repeat(2)), Some(archive.len() as u64));
}

#[test]
fn a_compressed_archive_names_the_program_that_reads_it() {
    for (magic, program) in COMPRESSED {
        let bytes = [magic, &[7; BLOCK]].concat();
        assert!(matches!(read(&bytes), Err(ArchiveError::Compressed { program: found }) if found == program));
    }
    assert!(matches!(read(&[7; BLOCK]), Err(ArchiveError::NoHeader { at: 0, .. })));
}
