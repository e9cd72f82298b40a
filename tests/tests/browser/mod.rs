//! The engine as browsers use it: what one backs up others restore, what others back up it restores, and what it is told
//! by a store that lies it does not believe.

use std::collections::HashMap;

use copal_format::client::Role;
use copal_format::extent::Extent;
use copal_format::id::OwnerFingerprint;
use copal_format::keys::domain::DomainKeys;
use copal_format::layout;
use copal_format::repository::{Descriptor, IngestBy};
use copal_format::time::Time;
use copal_format::tree::{Entry, EntryKind, Mode};
use copal_tests::kit::{Tree, noise, path, tree};
use copal_wasm::backup::{Action, Verdict};
use copal_wasm::client::Client;
use copal_wasm::fault::{Code, Fault};
use copal_wasm::look::Comparison;
use copal_wasm::sealer::Sealer;
use copal_wasm::view::Read;
use futures::executor::block_on;

mod comparing;
mod devices;
mod keeping;
mod marking;
mod opening;
mod seat;
mod sweep;

use seat::{Alteration, Browser, LATER, Ran, facts, files, unaltered, with_directories};

#[test]
fn what_a_browser_backs_up_everybody_restores() {
    let browser = Browser::new();
    let files = files(3, 120, 6_000);
    let ran = browser.back_up(LATER, &files, &[], usize::MAX);
    assert!(ran.tally.counts.files == 120 && ran.tally.counts.directories == 18, "{:?}", ran.tally);
    assert_eq!(browser.world.restore(ran.snapshot).unwrap(), with_directories(&files), "by the kit's reader");
    assert_eq!(browser.restore(ran.snapshot, &unaltered), (files, Vec::new()), "by the browser");
    assert_eq!(browser.world.check().findings.len(), 0);
}

#[test]
fn what_others_back_up_a_browser_restores() {
    let browser = Browser::new();
    for role in [Role::Full, Role::WriteOnly] {
        let client = browser.world.register(1 + role as u8, role);
        let files = files(4 + role as u64, 60, 4_000);
        let snapshot = browser.world.back_up(&client, &files);
        let (restored, damaged) = browser.restore(snapshot, &unaltered);
        assert_eq!((restored, damaged), (files, Vec::new()), "{role:?}");
    }
}

#[test]
fn a_second_backup_reads_and_stores_only_what_changed() {
    let browser = Browser::new();
    let mut files = files(5, 200, 4_000);
    let first = browser.back_up(LATER, &files, &[], usize::MAX);
    let unchanged = browser.back_up(LATER + 1, &files, &[&first.kept], usize::MAX);
    assert_eq!((unchanged.tally.summary.unmodified, unchanged.tally.bytes_new), (200, 0));
    assert_eq!(unchanged.tally.bytes_stored, 0, "not even a page");
    *files.values_mut().nth(70).unwrap() = b"another content, longer than what a page takes".repeat(50);
    let changed = browser.back_up(LATER + 2, &files, &[&unchanged.kept], usize::MAX);
    assert_eq!((changed.tally.summary.unmodified, changed.tally.summary.changed), (199, 1));
    assert_eq!(changed.tally.bytes_new, 46 * 50);
    assert_eq!(browser.restore(changed.snapshot, &unaltered).0, files);
}

#[test]
fn a_run_goes_on_from_the_checkpoint_of_one_that_was_lost() {
    let browser = Browser::new();
    let files = files(6, 150, 4_000);
    let lost = browser.back_up(LATER, &files, &[], 90);
    let next = browser.back_up(LATER + 1, &files, &[&lost.kept], usize::MAX);
    assert_eq!((next.tally.summary.unmodified, next.tally.summary.new), (90, 60));
    assert_eq!(browser.restore(next.snapshot, &unaltered), (files, Vec::new()));
}

#[test]
fn of_a_file_that_a_run_broke_off_within_nothing_is_stored_again_but_all_of_it_is_read() {
    let browser = Browser::new();
    let files = noise(11, 1, 200_000);
    let (path, content) = files.first_key_value().unwrap();
    let lost = browser.break_off(LATER, path, content, 150_000);
    assert_eq!(lost.tally.bytes_new, 150_000);
    let next = browser.back_up(LATER + 1, &files, &[&lost.kept], usize::MAX);
    assert_eq!((next.tally.summary.new, next.tally.summary.changed), (1, 0));
    assert!(next.tally.bytes_new < 60_000, "{:?}", next.tally);
    assert_eq!(browser.restore(next.snapshot, &unaltered), (files, Vec::new()));
}

#[test]
fn what_a_lost_run_had_stored_is_claimed_without_a_tree_and_not_stored_again() {
    let browser = Browser::new();
    let files = noise(12, 1, 3_000_000);
    let (path, content) = files.first_key_value().unwrap();
    let claimed = browser.lose(LATER, path, content);
    assert!(claimed > 1_000_000, "{claimed}");
    let next = browser.back_up(LATER + 1, &files, &[], usize::MAX);
    // Cuts differ a little, because the lost run took the file piece by piece.
    assert!(next.tally.bytes_new < 1_000_000, "{:?}", next.tally);
    assert_eq!(browser.restore(next.snapshot, &unaltered), (files, Vec::new()));
}

#[test]
fn claims_tell_about_how_large_a_snapshot_is_and_how_much_was_stored_for_it() {
    let browser = Browser::new();
    let mut files = files(10, 150, 4_000);
    let lost = browser.back_up(LATER, &files, &[], 90);
    let first = browser.back_up(LATER + 1, &files, &[&lost.kept], usize::MAX);
    let bytes: usize = files.values().map(Vec::len).sum();
    let told = |ran: &Ran| browser.world.snapshot(ran.snapshot).extent;
    assert_eq!(told(&first), Some(Extent::about(150 + 18, bytes as u64, first.tally.bytes_stored)));
    files.retain(|path, _| path.as_bytes() < b"d1".as_slice());
    let less = browser.back_up(LATER + 2, &files, &[&first.kept], usize::MAX);
    assert!(told(&less).unwrap().entries < 100, "{:?}", told(&less));
}

#[test]
fn a_kept_tree_that_was_cut_or_altered_costs_reading_only() {
    let browser = Browser::new();
    let files = files(7, 100, 3_000);
    let first = browser.back_up(LATER, &files, &[], usize::MAX);
    for cut in [0, 5, 16, 17, first.kept.len() / 2, first.kept.len() - 1] {
        assert!(!browser.begin(LATER + 1, &[]).parent(first.kept[..cut].to_vec()), "cut at {cut}");
    }
    let mut altered = first.kept.clone();
    altered[40] ^= 1;
    let again = browser.back_up(LATER + 1, &files, &[&altered], usize::MAX);
    assert_eq!(again.tally.bytes_new, 0, "the repository has it all");
    assert_eq!(browser.restore(again.snapshot, &unaltered).0, files);
}

#[test]
fn bytes_that_are_not_what_they_should_be_are_never_handed_over() {
    let browser = Browser::new();
    let files = files(8, 80, 5_000);
    let ran = browser.back_up(LATER, &files, &[], usize::MAX);
    let hit = browser.data_packs().remove(0);
    let flip = |read: &Read, mut bytes: Vec<u8>| {
        // Not the table, of which the end of the pack tells.
        if read.key == hit && bytes.len() > 5_000 {
            bytes[4_000] ^= 1;
        }
        Some(bytes)
    };
    let cut =
        |read: &Read, bytes: Vec<u8>| Some(if read.key == hit { bytes[..bytes.len() / 2].to_vec() } else { bytes });
    let gone = |read: &Read, bytes: Vec<u8>| (read.key != hit).then_some(bytes);
    let alterations: [&Alteration<'_>; 3] = [&flip, &cut, &gone];
    for (at, alter) in alterations.into_iter().enumerate() {
        let (whole, damaged) = browser.restore(ran.snapshot, alter);
        assert!(!damaged.is_empty(), "alteration {at}");
        assert_eq!(whole.len() + damaged.len(), files.len(), "alteration {at}: every file is whole or named");
        assert!(whole.iter().all(|(path, content)| files[path] == *content), "alteration {at}");
    }
}

#[test]
fn a_chunk_under_another_name_is_not_sealed() {
    let browser = Browser::new();
    let mut backup = browser.begin(LATER, &[]);
    let content = vec![7; 3_000];
    let facts = facts(&path("a"), &content);
    assert_eq!(backup.compare(&facts), Ok(Verdict::New));
    backup.begin_file().unwrap();
    assert_eq!(backup.take_chunks(&[copal_format::id::ChunkId([1; 24])], &[3_000]), Ok(vec![true]));
    backup.end_file(&facts).unwrap();
    backup.finish().unwrap();
    let Some(Action::Seal { block, .. }) = backup.poll() else { panic!("a block of data comes first") };
    let mut sealer = Sealer::new(DomainKeys::new(browser.client.domain_key()), &backup.sealer_key(), 3);
    assert_eq!(sealer.prepare(&block, &content).map(drop).map_err(|fault| fault.code), Err(Code::SealFailed));
}

#[test]
fn a_directory_of_which_a_snapshot_has_only_the_content_is_listed_too() {
    let browser = Browser::new();
    let client = browser.world.register(1, Role::Full);
    let job = browser.world.job();
    let mut run = client.begin(&job).unwrap();
    let names = ["apart/a", "apart/below/b", "apart/c", "file"];
    let entries = names.map(|name| Entry::new(path(name), Mode::new(EntryKind::File, 0o644)));
    let packs = block_on(run.take_entries(&job, b"a chunk", |_| entries.to_vec())).unwrap();
    let snapshot = block_on(client.commit_run(&job, &browser.world.view(), &mut run, packs, false)).unwrap();

    let library = browser.library();
    let tree = library.tree(snapshot).unwrap();
    for (directory, expected) in [
        ("", &["apart", "file"][..]),
        ("apart", &["apart/a", "apart/below", "apart/c"]),
        ("apart/below", &["apart/below/b"]),
    ] {
        for limit in [1, 10] {
            let (mut names, mut next) = (Vec::new(), None);
            loop {
                let listing = tree.list(&path(directory), next.as_ref(), limit);
                listing.needs.iter().for_each(|read| library.supply(read, browser.fetch(read)));
                names.extend(listing.entries.iter().map(|entry| entry.path.to_string()));
                if listing.needs.is_empty() && listing.next.is_none() {
                    break;
                }
                next = listing.next.or(next);
            }
            assert_eq!(names, expected, "{directory}");
        }
    }
}

#[test]
fn entries_are_listed_and_compared_part_by_part() {
    let browser = Browser::new();
    let mut files: Tree = (0..300).map(|at| (path(&format!("many/f{at:04}")), vec![at as u8; 40])).collect();
    files.insert(path("many/f0007/below"), vec![1; 10]);
    files.remove(&path("many/f0007"));
    let first = browser.back_up(LATER, &files, &[], usize::MAX);
    files.insert(path("many/new"), vec![1; 30]);
    files.remove(&path("many/f0100"));
    let second = browser.back_up(LATER + 1, &files, &[&first.kept], usize::MAX);

    let library = browser.library();
    assert_eq!(library.snapshots().iter().map(|found| found.id).collect::<Vec<_>>(), [second.snapshot, first.snapshot]);
    let (before, after) = (library.tree(first.snapshot).unwrap(), library.tree(second.snapshot).unwrap());
    let (mut names, mut next) = (Vec::new(), None);
    loop {
        let listing = before.list(&path("many"), next.as_ref(), 7);
        listing.needs.iter().for_each(|read| library.supply(read, browser.fetch(read)));
        names.extend(listing.entries.iter().map(|entry| entry.path.to_string()));
        if listing.needs.is_empty() {
            next = listing.next;
            if next.is_none() {
                break;
            }
        }
    }
    let expected: Vec<String> = (0..300).map(|at| format!("many/f{at:04}")).collect();
    assert_eq!(names, expected, "the directory among the files stands for what is below it");

    let mut comparison = Comparison::new(&before, &after);
    let mut changes = Vec::new();
    loop {
        let part = comparison.next(1).unwrap();
        part.needs.iter().for_each(|read| library.supply(read, browser.fetch(read)));
        changes.extend(part.changes.into_iter().map(|(_, change)| change.path.to_string()));
        if part.is_done {
            break;
        }
    }
    assert_eq!(changes, ["many/f0100", "many/new"]);
}

#[test]
fn a_directory_with_more_pages_than_are_kept_in_memory_is_listed_to_its_end() {
    let browser = Browser::new();
    // With the kit's small pages and blocks, several times as many of both as are kept.
    let files: Tree = (0..1_500).map(|at| (path(&format!("many/f{at:04}")), vec![1; 10])).collect();
    let ran = browser.back_up(LATER, &files, &[], usize::MAX);
    let library = browser.library();
    let tree = library.tree(ran.snapshot).unwrap();
    let (mut names, mut next, mut asked) = (Vec::new(), None, HashMap::new());
    loop {
        let listing = tree.list(&path("many"), next.as_ref(), 2_000);
        assert!(listing.needs.is_empty() || listing.entries.is_empty(), "an answer has reads or entries, never both");
        for read in &listing.needs {
            library.supply(read, browser.fetch(read));
            let times = asked.entry(read.clone()).or_insert(0);
            *times += 1;
            assert!(*times <= 8, "one answer needs {read:?} again and again, and the page gives it up");
        }
        if listing.needs.is_empty() {
            asked.clear();
            names.extend(listing.entries.into_iter().map(|entry| entry.path));
            next = listing.next;
            if next.is_none() {
                break;
            }
        }
    }
    assert!(names.iter().eq(files.keys()), "{} names", names.len());
}

#[test]
fn a_client_that_was_kept_is_the_same_client_and_another_owner_cannot_open_it() {
    let browser = Browser::new();
    let kept = browser.client.keep([3; 16]);
    let resumed = browser.owner.resume(&kept).unwrap();
    assert_eq!((resumed.id(), resumed.manifest_public()), (browser.client.id(), browser.client.manifest_public()));
    for at in 0..kept.len() {
        let mut altered = kept.to_vec();
        altered[at] ^= 1;
        assert_eq!(
            browser.owner.resume(&altered).map_err(|fault| fault.code).err(),
            Some(Code::KeptDamaged),
            "byte {at}"
        );
    }
}

#[test]
fn a_revoked_client_is_told() {
    let browser = Browser::new();
    let name = |version| layout::client(browser.client.id(), version);
    let records = [(1, browser.world.read(&name(1)))];
    let record = browser.client.check(&browser.descriptor, &records).unwrap();
    let revoked = record.revoked((0, copal_format::id::ObjectHash::NONE), None, Time(9));
    let bytes = revoked.sign(browser.client.repository(), &browser.owner.secret().signing_key());
    let records = [records[0].clone(), (2, bytes)];
    let told = browser.client.check(&browser.descriptor, &records).map_err(|fault| fault.code);
    assert_eq!(told.err(), Some(Code::ClientRevoked));
}

#[test]
fn an_enrolled_browser_joins_once_and_what_it_backs_up_restores() {
    let browser = Browser::new();
    let line = browser.invite();
    let id = line.client;
    let records = [(1, browser.world.read(&layout::client(id, 1)))];
    let enrollment = copal_wasm::enrollment::Enrollment::parse(&line.encode()).unwrap();
    let host = copal_wasm::client::HostKeys::default();
    let renamed = browser.owner.rename(&browser.descriptor, line.client, &records, "another", Time(2));
    assert_eq!(renamed.unwrap_err().code, Code::Misuse, "a client that has not joined joins with the name it has");
    let joined = enrollment.join(&browser.descriptor, &records, Time(2), &[6; 96], host).unwrap();
    browser.world.put(&joined.key, joined.bytes);
    let records = [records[0].clone(), (2, browser.world.read(&joined.key))];
    let used = enrollment.join(&browser.descriptor, &records, Time(3), &[7; 96], host).err().map(|fault| fault.code);
    assert_eq!(used, Some(Code::EnrollmentUsed));

    let kept = joined.client.keep([1; 16]);
    let resumed = Client::resume(&kept).unwrap();
    resumed.check(&browser.descriptor, &records).unwrap();
    assert!((0..kept.len()).all(|at| Client::resume(&kept[..at]).is_err()));
    let files = files(9, 40, 3_000);
    let full = browser;
    let device = Browser { client: resumed, ..full };
    let ran = device.back_up(LATER, &files, &[], usize::MAX);
    assert_eq!(device.world.restore(ran.snapshot).unwrap(), with_directories(&files));
    let again = device.back_up(LATER + 1, &files, &[&ran.kept], usize::MAX);
    assert_eq!((again.tally.summary.unmodified, again.tally.bytes_stored, again.manifests), (40, 0, 1));
}

#[test]
fn a_descriptor_of_another_owner_is_refused() {
    let browser = Browser::new();
    let mut other = browser.descriptor.clone();
    other.ingest = IngestBy::Service;
    let signer = copal_format::keys::client::ClientKeys::from_bytes(&[4; 64]).manifest_key();
    other.owner_key = signer.verifying_key().to_bytes();
    let other = Descriptor::decode(1, &other.sign(&signer)).unwrap();
    let code = |result: Result<(), Fault>| result.err().map(|fault| fault.code);
    assert_eq!(code(browser.owner.check(&other)), Some(Code::OtherOwner));
    assert_eq!(code(browser.client.check(&other, &[]).map(|_| ())), Some(Code::OtherOwner));
    assert_ne!(browser.client.owner(), OwnerFingerprint([0; 32]));
}

#[test]
fn calls_out_of_order_are_faults_and_change_nothing() {
    let browser = Browser::new();
    let mut backup = browser.begin(LATER, &[]);
    let code = |result: Result<(), Fault>| result.err().map(|fault| fault.code);
    assert_eq!(code(backup.take_same()), Some(Code::Misuse));
    assert_eq!(code(backup.fail()), Some(Code::Misuse));
    let content = b"x".to_vec();
    backup.compare(&facts(&path("b"), &content)).unwrap();
    assert_eq!(backup.compare(&facts(&path("a"), &content)).map_err(|fault| fault.code), Err(Code::OutOfOrder));
    assert_eq!(code(backup.take_same()), Some(Code::Misuse));
    assert_eq!(code(backup.finish()), Some(Code::Misuse));
    backup.take_inline(&facts(&path("b"), &content), &content).unwrap();
    backup.finish().unwrap();
    assert_eq!(code(backup.next_claim().map(|_| ())), Some(Code::Misuse), "packs are not stored");
    while !backup.is_idle() {
        browser.act(&mut backup);
    }
    assert!(backup.next_claim().unwrap().is_some_and(|claim| claim.is_last));
    assert_eq!(tree([]).len(), 0);
}
