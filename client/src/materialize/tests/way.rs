//! What is in the way of an entry, and what is there without being in the snapshot.

use super::*;
use crate::causes::with_causes;
use crate::system::{Object, mode_of};

#[test]
fn a_link_that_points_elsewhere_or_a_file_with_other_names_is_not_the_same() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    symlink("there", place.at("link")).unwrap();
    let link = |points_to| Wanted { metadata: metadata(0o120777), points_to: Some(points_to), ..wanted(0) };
    assert_eq!(target.look(&path("link"), &link(b"there")).unwrap(), TargetState::Same);
    assert_eq!(target.look(&path("link"), &link(b"elsewhere")).unwrap(), TargetState::Taken);
    write(&target, "file", b"1");
    fs::hard_link(place.at("file"), place.at("other")).unwrap();
    assert_eq!(target.look(&path("file"), &wanted(1)).unwrap(), TargetState::Taken);
    assert_eq!(target.look(&path("file"), &Wanted { is_alone: false, ..wanted(1) }).unwrap(), TargetState::Same);
}

#[test]
fn root_keeps_no_file_that_somebody_else_may_have_put_there() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    write(&target, "file", b"1");
    write(&target, "linked", b"1");
    fs::hard_link(place.at("linked"), place.at("elsewhere")).unwrap();
    let among = |mode| Wanted { metadata: metadata(mode), is_alone: false, ..wanted(1) };
    assert_eq!(target.look(&path("linked"), &among(0o100644)).unwrap(), TargetState::Same);
    // Its other name may lie outside the target.
    assert_eq!(target.look(&path("linked"), &among(0o104755)).unwrap(), TargetState::Taken);
    if crate::system::is_root() {
        // Of the right owner, who may not be in the group whose rights it would get.
        write(&target, "tool", b"1");
        let capable = [(b"security.capability".to_vec(), b"x".to_vec())];
        for metadata in [metadata(0o102755), Metadata { xattrs: &capable, ..metadata(0o100644) }] {
            let tool = Wanted { metadata, ..wanted(1) };
            assert_eq!(target.look(&path("tool"), &tool).unwrap(), TargetState::Taken, "{metadata:?}");
        }
        std::os::unix::fs::chown(place.at("file"), Some(65_534), None).unwrap();
        assert_eq!(target.look(&path("file"), &wanted(1)).unwrap(), TargetState::Taken);
        let newer = place.overwriting(Overwrite::Newer);
        assert_eq!(newer.look(&path("file"), &wanted(1)).unwrap(), TargetState::Taken);
        assert!(target.has(&path("file"), &wanted(1)).unwrap(), "the content is right");
        let renewed = target.renew_metadata(&path("file"), &metadata(0o104755));
        assert!(matches!(renewed, Err(WriteError::Exchanged { .. })), "{renewed:?}");
        assert_eq!(EntryStat::of_path(&place.at("file")).unwrap().uid, 65_534);
    }
}

#[test]
fn what_was_exchanged_meanwhile_gets_no_metadata_and_no_content() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    target.ensure_directory(&path("directory")).unwrap();
    fs::remove_dir(place.at("directory")).unwrap();
    fs::write(place.at("directory"), "a program").unwrap();
    let set = target.set_metadata(&path("directory"), &metadata(0o46755));
    assert!(matches!(set, Err(WriteError::Exchanged { .. })), "{set:?}");
    assert_eq!(EntryStat::of_path(&place.at("directory")).unwrap().mode & 0o7000, 0);
    let file = target.create_file(&path("file"), 0o600).unwrap();
    let made = file.id().unwrap();
    assert!(target.reopen_file(&path("file"), made).is_ok());
    fs::rename(place.at("file"), place.at("away")).unwrap();
    fs::write(place.at("elsewhere"), "another").unwrap();
    fs::hard_link(place.at("elsewhere"), place.at("file")).unwrap();
    assert!(matches!(target.reopen_file(&path("file"), made), Err(WriteError::Exchanged { .. })));
}

#[test]
fn a_closed_file_is_not_taken_for_another_one_of_the_same_user() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    write(&target, "other", b"secret");
    let made = target.create_file(&path("file"), 0o600).unwrap().id().unwrap();
    fs::rename(place.at("file"), place.at("away")).unwrap();
    fs::rename(place.at("other"), place.at("file")).unwrap();
    let opened = target.reopen_file(&path("file"), made).map(drop);
    assert!(matches!(opened, Err(WriteError::Exchanged { .. })), "{opened:?}");
}

#[test]
fn a_file_in_the_place_of_a_link_pipe_or_device_gets_none_of_its_metadata() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    fs::write(place.at("file"), "of another user").unwrap();
    fs::set_permissions(place.at("file"), fs::Permissions::from_mode(0o600)).unwrap();
    let before = place.stat("file");
    for mode in [0o010644, 0o020644, 0o060644, 0o120777] {
        let set = target.set_metadata(&path("file"), &metadata(mode));
        assert!(matches!(set, Err(WriteError::Exchanged { .. })), "{mode:o}: {set:?}");
        assert_eq!(place.stat("file"), before, "{mode:o}");
    }
}

#[test]
fn what_takes_the_name_of_an_entry_that_was_looked_at_gets_none_of_its_metadata() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    target.fifo(&path("pipe")).unwrap();
    target.symlink(&path("link"), b"nowhere").unwrap();
    // The link stands in the place of a file, which would be opened.
    for (name, is_openable) in [("pipe", false), ("link", true)] {
        let at = target.at(&path(name)).unwrap();
        let object = Object::at(at.place(), is_openable).unwrap();
        fs::rename(place.at(name), place.at("away")).unwrap();
        fs::write(place.at(name), "of another user").unwrap();
        let before = place.stat(name);
        assert_eq!(object.stat().unwrap().id(), place.stat("away").id(), "{name}");
        object.chown(crate::system::is_root().then_some(65_534), None).unwrap();
        // A link has no mode.
        let _ = object.chmod(mode_of(0o604));
        object.set_times(MTIME, None.into()).unwrap();
        assert_eq!(place.stat(name), before, "{name}");
        assert_eq!(place.stat("away").mtime, MTIME, "{name}");
    }
}

#[test]
fn a_file_that_its_owner_may_not_open_gets_its_metadata() {
    let place = Playground::new();
    place.open_to_all();
    let target = place.target(TargetOptions::default());
    let xattrs = [(b"user.note".to_vec(), b"1".to_vec())];
    as_nobody(|| {
        fs::write(place.at("file"), "1").unwrap();
        fs::set_permissions(place.at("file"), fs::Permissions::from_mode(0o0)).unwrap();
        target.set_metadata(&path("file"), &Metadata { xattrs: &xattrs, ..metadata(0o100640) }).unwrap();
    });
    assert_eq!((place.stat("file").mode, place.stat("file").mtime), (0o100640, MTIME));
    assert_eq!(Extras::read(&place.at("file")).xattrs, xattrs);
    assert!(target.finish().is_empty());
}

#[test]
fn a_closed_directory_that_is_kept_is_closed_again_and_keeps_its_time() {
    let place = Playground::new();
    place.open_to_all();
    let target = place.overwriting(Overwrite::Never);
    as_nobody(|| {
        fs::create_dir_all(place.at("closed/within")).unwrap();
        for name in ["closed/within", "closed"] {
            target.set_metadata(&path(name), &metadata(0o040500)).unwrap();
        }
        for name in ["closed", "closed/within"] {
            assert_eq!(target.ensure_directory(&path(name)).unwrap(), Created::Before, "{name}");
        }
        target.create_file(&path("closed/within/missing"), 0o600).unwrap();
        target.close_kept();
    });
    for name in ["closed", "closed/within"] {
        assert_eq!((place.stat(name).mode, place.stat(name).mtime), (0o040500, MTIME), "{name}");
    }
    assert!(place.at("closed/within/missing").exists() && target.finish().is_empty());
}

#[test]
fn a_pipe_that_may_have_no_other_name_is_not_copied_as_a_file() {
    let place = Playground::new();
    place.open_to_all();
    let target = place.target(TargetOptions::default());
    target.fifo(&path("pipe")).unwrap();
    // Linux may refuse a hard link to a pipe of another user (fs.protected_hardlinks).
    let is_made = as_nobody(|| target.second_name(&path("second"), &path("pipe")).unwrap());
    let second = EntryStat::of_path(&place.at("second")).ok();
    assert_eq!(second.map(|stat| stat.id()), is_made.then(|| place.stat("pipe").id()));
    assert_eq!(target.finish().is_empty(), is_made);
}

#[test]
fn a_name_alone_gives_nothing_the_bits_that_give_rights() {
    let place = Playground::new();
    let target = place.target(TargetOptions::default());
    target.fifo(&path("pipe")).unwrap();
    target.set_metadata(&path("pipe"), &metadata(0o014755)).unwrap();
    assert_eq!(EntryStat::of_path(&place.at("pipe")).unwrap().mode & 0o7777, 0o755);
}

#[test]
fn a_file_that_is_not_older_than_that_of_the_snapshot_stays_if_that_is_wanted() {
    let place = Playground::new();
    let target = place.overwriting(Overwrite::Newer);
    write(&target, "file", b"12345");
    let mtime = target.existing(&path("file")).unwrap().unwrap().mtime;
    let at = |mtime| Metadata { mtime, ..metadata(0o100644) };
    let state = |size, mtime| target.look(&path("file"), &Wanted { metadata: at(mtime), ..wanted(size) }).unwrap();
    assert_eq!(state(5, mtime), TargetState::Same);
    assert_eq!(state(6, mtime), TargetState::Kept);
    assert_eq!(state(5, Time(mtime.0 - 1)), TargetState::Kept);
    assert_eq!(state(5, Time(mtime.0 + 1)), TargetState::Taken);
    // It was older when it was looked at, and somebody writes to it before it is replaced.
    fs::write(place.at("file"), "67890").unwrap();
    let wanted = Wanted { metadata: at(Time(mtime.0 + 1)), ..wanted(5) };
    assert_eq!(target.make_way(&path("file"), &wanted).unwrap(), TargetState::Kept);
    assert_eq!(fs::read(place.at("file")).unwrap(), b"67890");
}

#[test]
fn overwriting_never_changed_and_always_do_what_they_say() {
    for (overwrite, same, other) in [
        (Overwrite::Never, TargetState::Kept, TargetState::Kept),
        (Overwrite::Changed, TargetState::Same, TargetState::Free),
        (Overwrite::Always, TargetState::Free, TargetState::Free),
    ] {
        let place = Playground::new();
        let target = place.overwriting(overwrite);
        write(&target, "file", b"12345");
        write(&target, "other", b"1");
        symlink("nowhere", place.at("link")).unwrap();
        assert_eq!(target.make_way(&path("file"), &wanted(5)).unwrap(), same, "{overwrite:?}");
        assert_eq!(target.make_way(&path("other"), &wanted(5)).unwrap(), other, "{overwrite:?}");
        assert_eq!(target.make_way(&path("link"), &wanted(5)).unwrap(), other, "{overwrite:?}");
        assert_eq!(target.make_way(&path("absent"), &wanted(5)).unwrap(), TargetState::Free, "{overwrite:?}");
        assert_eq!(place.at("other").exists(), other == TargetState::Kept);
    }
}

#[test]
fn a_file_with_several_names_is_replaced_under_one_only() {
    let place = Playground::new();
    let target = place.overwriting(Overwrite::Always);
    write(&target, "file", b"old");
    fs::hard_link(place.at("file"), place.path.join("elsewhere")).unwrap();
    assert_eq!(target.make_way(&path("file"), &wanted(3)).unwrap(), TargetState::Free);
    write(&target, "file", b"new");
    assert_eq!(fs::read(place.path.join("elsewhere")).unwrap(), b"old");
}

#[test]
fn a_directory_with_content_makes_way_only_if_allowed() {
    let place = Playground::new();
    fs::create_dir_all(place.at("full/below")).unwrap();
    fs::create_dir(place.at("empty")).unwrap();
    fs::write(place.at("full/below/file"), "").unwrap();
    symlink(place.path.join("outside"), place.at("full/link")).unwrap();
    let target = place.target(TargetOptions::default());
    assert_eq!(target.make_way(&path("empty"), &wanted(1)).unwrap(), TargetState::Free);
    assert!(matches!(target.make_way(&path("full"), &wanted(1)), Err(WriteError::InTheWay { .. })));
    assert!(place.at("full/below/file").exists());
    let target = place.target(TargetOptions { replace_full_directories: true, ..TargetOptions::default() });
    assert_eq!(target.make_way(&path("full"), &wanted(1)).unwrap(), TargetState::Free);
    assert!(!place.at("full").exists());
    place.assert_outside_is_untouched();
}

#[test]
fn a_file_in_the_place_of_a_directory_is_replaced_only_if_it_may() {
    let place = Playground::new();
    fs::write(place.at("entry"), "").unwrap();
    let never = place.overwriting(Overwrite::Never);
    assert!(matches!(never.ensure_directory(&path("entry")), Err(WriteError::InTheWay { .. })));
    let refused = never.create_file(&path("entry/file"), 0o600).err().unwrap();
    assert_eq!(refused.path(), path("entry/file"), "the entry that is not restored is named, not what is in its way");
    assert!(with_causes(&refused).ends_with("something else is in the way of entry"), "{refused}");
    assert_eq!(place.overwriting(Overwrite::Changed).ensure_directory(&path("entry")).unwrap(), Created::New);
}

#[test]
fn a_link_in_the_target_never_leads_out_of_it() {
    for overwrite in [Overwrite::Never, Overwrite::Changed, Overwrite::Always] {
        let place = Playground::new();
        let out = place.at("out");
        let renew = || {
            let _ = fs::remove_file(&out);
            let _ = fs::remove_dir_all(&out);
            symlink("../outside", &out).unwrap();
        };
        let target = place.overwriting(overwrite);
        let inside = path("out/below/file");
        let outside = EntryStat::of_path(&place.path.join("outside/below/file")).unwrap().id();
        let acts: [&dyn Fn() -> Result<(), WriteError>; 11] = [
            &|| target.create_file(&path("out/below/new"), 0o600).map(drop),
            &|| target.create_file(&path("out/new"), 0o600).map(drop),
            &|| target.reopen_file(&inside, outside).and_then(|file| file.write_at(0, b"escaped")),
            &|| target.ensure_directory(&path("out/below/new")).map(drop),
            &|| target.symlink(&path("out/below/link"), b"x"),
            &|| target.fifo(&path("out/fifo")),
            &|| target.hardlink(&path("stolen"), &inside),
            &|| target.hardlink(&path("out/below/name"), &path("out")),
            &|| target.remove_existing(&inside),
            &|| target.make_way(&inside, &wanted(0)).map(drop),
            &|| target.set_metadata(&inside, &metadata(0o100777)),
        ];
        for act in acts {
            renew();
            let _ = act();
            place.assert_outside_is_untouched();
        }
        assert!(!place.at("stolen").exists());
        renew();
        target.set_metadata(&path("out"), &metadata(0o120777)).unwrap();
        let as_directory = target.set_metadata(&path("out"), &metadata(0o040700));
        assert!(matches!(as_directory, Err(WriteError::Exchanged { .. })), "{as_directory:?}");
        assert_eq!(target.existing(&inside).unwrap(), None);
        let nothing = std::iter::empty::<Result<Held, BadEnd>>();
        assert_eq!(target.surplus(&path("out"), nothing, all, &Stays::default()).unwrap(), Surplus::default());
        target.remove_existing(&path("out")).unwrap();
        place.assert_outside_is_untouched();
    }
}

#[test]
fn a_link_in_the_place_of_a_file_is_replaced_and_not_followed() {
    let place = Playground::new();
    symlink("../outside/below/file", place.at("file")).unwrap();
    let target = place.overwriting(Overwrite::Always);
    assert!(target.create_file(&path("file"), 0o600).is_err());
    let outside = EntryStat::of_path(&place.path.join("outside/below/file")).unwrap().id();
    assert!(target.reopen_file(&path("file"), outside).is_err());
    assert_eq!(target.make_way(&path("file"), &wanted(4)).unwrap(), TargetState::Free);
    write(&target, "file", b"mine");
    place.assert_outside_is_untouched();
}

#[test]
fn surplus_is_what_the_snapshot_lacks_deepest_first() {
    let place = Playground::new();
    for file in ["a/kept", "a/extra", "b/c/extra", "b/c/keep.o", "kept", "z/y/x"] {
        fs::create_dir_all(place.at(file).parent().unwrap()).unwrap();
        fs::write(place.at(file), "").unwrap();
    }
    symlink("../outside", place.at("link")).unwrap();
    let target = place.target(TargetOptions::default());
    let snapshot = || ["a", "a/gone", "a/kept", "kept", "later"].map(held);
    let texts = |found: &Surplus| found.entries.iter().map(TreePath::to_string).collect::<Vec<_>>();
    let surplus = target.surplus(&TreePath::TOP, snapshot(), all, &Stays::default()).unwrap();
    assert_eq!(texts(&surplus), ["z/y/x", "z/y", "z", "link", "b/c/keep.o", "b/c/extra", "b/c", "b", "a/extra"]);

    let selection = Selection { excludes: excluding(&["*.o", "/z"]), ..Selection::default() };
    let selects = |path: &TreePath, is_directory| selection.selects(path, is_directory);
    let surplus = target.surplus(&TreePath::TOP, snapshot(), selects, &Stays::default()).unwrap();
    assert_eq!(texts(&surplus), ["link", "b/c/extra", "a/extra"], "a directory stays with what was left out in it");
    let removals: Vec<_> = surplus.entries.iter().map(|path| target.remove(path).unwrap()).collect();
    assert!(removals.iter().all(|removal| *removal != Removal::NotEmpty));
    assert!(place.at("b/c/keep.o").exists() && !place.at("a/extra").exists() && !place.at("link").exists());
    place.assert_outside_is_untouched();

    let surplus = target.surplus(&path("z/y"), snapshot(), all, &Stays::default()).unwrap();
    assert_eq!(texts(&surplus), ["z/y/x"]);
}

#[test]
fn a_directory_that_the_snapshot_holds_without_content_is_not_looked_into_unasked() {
    let place = Playground::new();
    fs::create_dir_all(place.at("empty/below")).unwrap();
    fs::write(place.at("extra"), "").unwrap();
    let target = place.target(TargetOptions::default());
    let snapshot = || [Ok::<_, BadEnd>(Held { place: path("empty"), is_directory: true }), held("kept")];
    let surplus =
        target.surplus(&TreePath::TOP, snapshot(), all, &Stays { in_empty: true, ..Stays::default() }).unwrap();
    assert_eq!(surplus, Surplus { entries: vec![path("extra")], spared: vec![path("empty")] });
    let surplus = target.surplus(&TreePath::TOP, snapshot(), all, &Stays::default()).unwrap();
    assert_eq!(surplus.entries, [path("extra"), path("empty/below")]);
}

#[test]
fn what_a_marker_or_a_size_may_have_left_out_stays() {
    let place = Playground::new();
    for file in ["a/.skip", "a/b/data", "c/much-data", "large-file"] {
        fs::create_dir_all(place.at(file).parent().unwrap()).unwrap();
        fs::write(place.at(file), file).unwrap();
    }
    let target = place.target(TargetOptions::default());
    // The marker is the snapshot's: it may be gone from the target.
    for marker in ["a/.skip", "a/zz"] {
        let name = path(marker).name().to_vec();
        let stays = Stays { markers: vec![name], larger_than: Some(8), ..Stays::default() };
        let snapshot = ["a", "a/.skip", "a/zz"].map(held).into_iter();
        let surplus = target.surplus(&TreePath::TOP, snapshot, all, &stays).unwrap();
        assert_eq!(surplus, Surplus { entries: [].into(), spared: vec![path("a")] }, "{marker}");
    }
}

/// A file of the snapshot; `a` is a directory.
fn held(place: &str) -> Result<Held, BadEnd> {
    Ok(Held { place: path(place), is_directory: place == "a" })
}

fn all(_: &TreePath, _: bool) -> bool {
    true
}

#[derive(Debug, thiserror::Error)]
#[error("the entries end too early")]
struct BadEnd;

#[test]
fn nothing_is_surplus_if_the_snapshot_cannot_be_read() {
    let place = Playground::new();
    fs::write(place.at("file"), "").unwrap();
    let target = place.target(TargetOptions::default());
    let surplus = target.surplus(&TreePath::TOP, [Err::<Held, _>(BadEnd)], all, &Stays::default());
    assert!(matches!(surplus, Err(SurplusError::Snapshot(BadEnd))));
}
