//! Lists of changes of a machine that cannot read what it has saved.

use std::fs;
use std::path::PathBuf;

use super::{Numbers, change, folders_in};
use crate::kit::{assert_same, first_json, text};
use crate::managed::world::{upload, with_camera};

#[test]
fn a_write_only_machine_takes_over_what_its_kept_tree_has() {
    let (owner, machine) = with_camera();
    folders_in(&machine);
    machine.write("large", vec![7_u8; 40 << 20]);
    let upload = |told: &[PathBuf], options: &[&str]| {
        let list: String = told.iter().map(|path| format!("{}\n", machine.source(path).display())).collect();
        fs::write(machine.path("list"), list).unwrap();
        first_json(&upload(&machine, &[&["--changed-from", "list"], options].concat()).text())
    };
    let save = |told: &[PathBuf]| {
        let made = upload(told, &[]);
        owner.ok(&["ingest"]);
        made
    };
    assert_eq!(save(&[])["narrowed"], false);
    for seed in 300..306 {
        let mut numbers = Numbers(seed);
        let told: Vec<PathBuf> = (0..numbers.below(5)).flat_map(|_| change(&machine, &mut numbers)).collect();
        assert_eq!(upload(&told, &["-n"])["narrowed"], true, "{seed}");
        let made = save(&told);
        assert_eq!(made["narrowed"], true, "{seed}: {made}");
        let out = format!("out-{seed}");
        owner.ok(&["restore", &text(&made["snapshot_id"]), "-t", &out]);
        let restored = owner.path(&out).join(machine.path("source").strip_prefix("/").unwrap());
        assert_same(&machine.path("source"), &restored);
        let whole = machine.json(&["backup", "source", "-n"]);
        for key in ["dirs", "others", "bytes_scanned"] {
            assert_eq!(made[key], whole[key], "{seed}: {key}");
        }
    }
    // The service may reject a manifest that waits for its answer: the next backup takes nothing over from it.
    assert_eq!(upload(&[], &[])["narrowed"], true);
    assert!(text(&save(&[])["gap"]).contains("not the one that this machine made with a list"));
    assert_eq!(owner.check(&["--read-data"]).0, 0);
}
