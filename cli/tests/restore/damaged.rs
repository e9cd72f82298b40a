//! What is damaged, in the repository or in the target.

use super::*;

#[test]
fn damage_is_passed_by_and_every_file_it_hits_is_named() {
    let machine = Machine::new();
    machine.write("before", noise(1, 100_000));
    machine.write("hit", noise(2, 5_000_000));
    machine.write("hit too", [noise(5, 100_000), noise(2, 5_000_000)].concat());
    machine.write("zero after", noise(3, 100_000));
    fs::hard_link(machine.source("hit"), machine.source("hit again")).unwrap();
    machine.backup(&[]);
    let pack = &machine.packs(0)[0];
    machine.flip(pack, 2_500_000);
    let run = machine.restore(&[]).exits(4);
    for (name, is_named) in [("hit", true), ("hit too", true), ("hit again", true), ("before", false)] {
        assert_eq!(run.err.contains(&format!("/{name}\"")), is_named, "{name}: {}", run.err);
    }
    assert_eq!((number(&run, "errors"), number(&run, "files_restored")), (3, 2));
    for whole in ["before", "zero after"] {
        assert_eq!(
            fs::read(machine.source(whole)).unwrap(),
            fs::read(machine.path("out").join(whole)).unwrap(),
            "{whole}"
        );
    }
    let (original, found) = (fs::read(machine.source("hit")).unwrap(), fs::read(machine.path("out/hit")).unwrap());
    let same = original.iter().zip(&found).filter(|(a, b)| a == b).count();
    assert!(original.len() == found.len() && same > 2_000_000 && same < original.len());
    // What is not whole does not look whole to the next run.
    assert_eq!(number(&machine.restore(&[]).exits(4), "errors"), 3);
    machine.flip(pack, 2_500_000);
    machine.restore(&[]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
}

#[test]
fn a_file_of_which_nothing_can_be_read_does_not_replace_what_is_there() {
    let machine = Machine::saved([("file", noise(1, 100_000))]);
    fs::create_dir(machine.path("out")).unwrap();
    fs::write(machine.path("out/file"), "mine").unwrap();
    machine.damage(&machine.packs(0)[0], Harm::Delete);
    machine.restore(&[]).exits(4);
    assert_eq!(fs::read(machine.path("out/file")).unwrap(), b"mine");
}

#[test]
fn a_lost_page_is_told_as_a_range_of_paths_and_nothing_is_deleted() {
    let machine = Machine::new();
    for number in 0..3000 {
        machine.write(&format!("d{}/file {number:04}", number / 100), format!("{number}"));
    }
    machine.backup(&[]);
    machine.restore(&[]).ok();
    fs::write(machine.path("out/surplus"), "").unwrap();
    let before: Vec<_> = machine.packs(1).iter().map(|pack| machine.object(pack)).collect();
    // This backup needs a few new pages; all others are lost.
    machine.write("d20/file 2050", "changed");
    machine.backup(&[]);
    for pack in &before {
        fs::rename(pack, machine.path(pack.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    let run = machine.restore(&["--delete"]).exits(4);
    assert!(run.err.contains("are lost") && run.err.contains(" up to "), "{}", run.err);
    assert_eq!(fs::read(machine.path("out/d20/file 2050")).unwrap(), b"changed");
    assert!(machine.path("out/surplus").exists());
    for pack in &before {
        fs::rename(machine.path(pack.file_name().unwrap().to_str().unwrap()), pack).unwrap();
    }
    machine.restore(&["--delete"]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
}

#[test]
fn verifying_finds_what_was_tampered_with() {
    let machine = Machine::new();
    machine.write("good", "good");
    machine.write("file", noise(1, 400_000));
    machine.write("inline", "inline");
    let sparse = File::create(machine.source("sparse")).unwrap();
    sparse.set_len(2 << 20).unwrap();
    sparse.write_all_at(b"x", 1 << 20).unwrap();
    machine.backup(&[]);
    machine.restore(&["--verify"]).ok();
    for (file, offset) in [("file", 300_000), ("inline", 2), ("sparse", 100)] {
        let time = fs::metadata(machine.source(file)).unwrap().modified().unwrap();
        let open = File::options().write(true).open(machine.path("out").join(file)).unwrap();
        open.write_all_at(b"!", offset).unwrap();
        open.set_modified(time).unwrap();
    }
    let run = machine.restore(&["--verify"]).exits(4);
    assert_eq!((number(&run, "errors"), number(&run, "files_verified")), (3, 1));
    for named in ["file", "inline", "sparse"] {
        assert!(run.err.contains(&format!("/{named}\"")), "{}", run.err);
    }
    let told = machine.run(&["restore", &machine.whole(), "-t", "out", "--verify"]).exits(4).err;
    assert!(told.contains("--overwrite always") && !told.contains("copal check"), "the repository is whole: {told}");
    machine.restore(&["--verify", "--overwrite", "always"]).ok();
}
