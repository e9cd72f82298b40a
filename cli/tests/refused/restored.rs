//! A restore without the room or the rights that it needs restores the rest, and names what is missing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{NOBODY, Reader, machine};
use crate::kit::{COPAL, Machine, Run, needs_root, noise, number, run_by};

#[test]
fn a_restore_into_a_full_place_names_what_is_missing() {
    let machine = machine();
    machine.backup(&[]);
    let script = "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\"";
    let restore = machine.with_key(&["restore", "latest:source", "-t", "out"]);
    let ran = run_by("sh", &["-c", script, COPAL], &restore).ran().exits(3);
    assert!(ran.err.contains("source/new"), "{ran}");
    assert_eq!(fs::read(machine.path("out/old")).unwrap(), noise(1, 100_000), "what has room is there");
    let again = machine.restore(&[]).ok();
    assert_eq!(number(&again, "files_restored"), 1, "{again}");
}

#[test]
fn a_target_whose_owner_cannot_be_set_is_named_by_a_point() {
    needs_root("restore as somebody else");
    let machine = Machine::new();
    machine.run(&["backup", "source"]).ok();
    let reader = Reader::new(&machine);
    let ran = reader.run(&["restore", "--json", &machine.whole(), "-t", "mine/out"]);
    assert!(ran.err.contains("for 1 entry (like .: "), "{ran}");
}

#[test]
fn who_may_not_do_all_restores_the_rest_and_is_told_what_is_missing() {
    let machine = Machine::new();
    for (name, mode) in [("closed", 0o000), ("locked", 0o400), ("own", 0o440), ("plain", 0o600)] {
        machine.write(name, name);
        crate::kit::set_xattr(&machine.source(name), "user.note", name.as_bytes());
        fs::set_permissions(machine.source(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(machine.source("own"), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let device = rustix::fs::FileType::CharacterDevice;
    let numbers = rustix::fs::makedev(1, 3);
    let mode = rustix::fs::Mode::RWXU;
    let has_device = rustix::fs::mknodat(rustix::fs::CWD, machine.source("null"), device, mode, numbers).is_ok();
    if has_device {
        fs::hard_link(machine.source("null"), machine.source("zero")).unwrap();
    }
    machine.run(&["backup", "source"]);
    let reader = Reader::new(&machine);
    for round in ["new", "again"] {
        let run = reader.run(&["restore", "--json", "--verify", &machine.whole(), "-t", "mine/out"]).exits(3);
        let named = if has_device { 3 } else { 1 };
        assert_eq!((number(&run, "errors"), number(&run, "files_verified")), (named, 3), "{round}: {run}");
        assert_eq!(has_device, run.err.contains("/zero\",\"warning\":\"only root can make devices"), "{run}");
        assert!(run.err.contains("/closed\",\"warning\":\"it cannot be verified"), "{run}");
        assert!(!run.err.contains("an extended attribute could not be restored"), "{run}");
    }
    for name in ["closed", "locked", "own", "plain"] {
        let mut value = [0; 16];
        let length = rustix::fs::lgetxattr(machine.path("mine/out").join(name), "user.note", &mut value).unwrap();
        assert_eq!(&value[..length], name.as_bytes());
        let restored = fs::metadata(machine.path("mine/out").join(name)).unwrap().permissions().mode();
        assert_eq!(restored, fs::metadata(machine.source(name)).unwrap().permissions().mode(), "{name}");
    }
}
