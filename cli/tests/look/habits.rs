//! What is found by more than its name, differences in sum, the benchmark, and manual pages.

use super::*;

#[test]
fn entries_are_found_by_type_size_and_time() {
    let machine = small_tree();
    machine.write("large", vec![0; 5_000]);
    let old = fs::File::open(machine.path("source/a/z")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400)).unwrap();
    symlink("b", machine.path("source/link")).unwrap();
    machine.backup(&[]);
    let found =
        |options: &[&str]| below(&machine, &machine.run(&[&["find", "--json", "*"], options].concat()).ok().rows());
    assert_eq!(found(&["--type", "dir"]), ["a", "a/b", "a-b"]);
    assert_eq!(found(&["--type", "l"]), ["link"]);
    assert_eq!(found(&["--larger", "4k"]), ["large"]);
    assert_eq!(found(&["--smaller", "2"]), ["b"], "only files have a size");
    assert_eq!(found(&["--older", "1970-01-03"]), ["a/z"]);
    assert_eq!(found(&["--newer", "1h", "--type", "f", "--smaller", "5k"]), ["a/b/c", "a-b/x", "a.b", "b", "large"]);
    let line = &machine.run(&["find", "-l", "large"]).ok().lines()[0];
    assert!(line.contains("-rw") && line.contains("4.88 KiB"), "{line}");
}

#[test]
fn a_difference_is_summed_up_with_the_largest_files() {
    let machine = small_tree();
    machine.write("large", vec![0; 5_000]);
    let first = machine.backup(&[]);
    machine.remove("large");
    machine.write("new/larger", vec![1; 6_000]);
    machine.write("a/z", "longer than before");
    let second = machine.backup(&[]);
    let stat = machine.run(&["diff", "--stat", &first, &second, "--json"]).ok().json();
    let sum = |kind: &str| {
        let of = |field: &str| stat[kind][field].as_u64().unwrap();
        (of("entries"), of("bytes_before"), of("bytes_after"))
    };
    assert_eq!((sum("added"), sum("removed"), sum("modified")), ((2, 0, 6_000), (1, 5_000, 0), (1, 3, 18)));
    assert_eq!(below(&machine, stat["largest"].as_array().unwrap()), ["new/larger", "large", "a/z"]);
    let told = machine.run(&["diff", "--stat", &first, &second]).ok().text();
    assert!(told.contains("content changed") && told.contains("18 B  was 3 B"), "{told}");
    assert!(told.lines().nth(6).unwrap().starts_with("+  5.86 KiB  /"), "{told}");
}

#[test]
fn files_and_bytes_are_counted_in_the_snapshots_that_are_chosen() {
    let machine = small_tree();
    let first = machine.backup(&[]);
    machine.write("large", vec![0; 5_000]);
    machine.backup(&["--tag", "second"]);
    let sums = |options: &[&str]| {
        let stats = machine.run(&[&["stats", "--json"], options].concat()).ok().json();
        ["snapshots", "files", "logical_bytes", "stored_bytes"].map(|field| stats[field].as_u64().unwrap())
    };
    let [all, one] = [sums(&[]), sums(&[&first])];
    assert_eq!(sums(&["latest"]), [1, all[1] - one[1], all[2] - one[2], all[3]]);
    assert_eq!(sums(&["latest"]), sums(&["--tag", "second"]));
    assert_eq!((all[0], all[1], all[2]), (2, 2 * one[1] + 1, 2 * one[2] + 5_000));
    assert_eq!(sums(&["--host", "nowhere"]), [0, 0, 0, all[3]]);
    assert_eq!(machine.run(&["stats", "abcdef", "--json"]).exits(1).kind(), "no_snapshot");
}

#[test]
fn a_benchmark_needs_no_passphrase_and_leaves_nothing_behind() {
    let machine = Machine::new();
    let before = machine.objects();
    let speeds = machine.command(&["benchmark", "--json"]).ran().ok().json();
    let speeds = speeds.as_array().unwrap();
    assert!(speeds.iter().all(|speed| speed["mb_per_second"].as_f64().unwrap() > 0.0), "{speeds:?}");
    let acts: Vec<String> = speeds.iter().map(|speed| text(&speed["act"])).collect();
    let own = ["cut", "name", "compress", "decompress", "encrypt", "decrypt"];
    assert_eq!(acts, [&own[..], &["store: write", "store: read"]].concat());
    let left = fs::read_dir(machine.object("tmp")).map(Iterator::count).unwrap_or(0);
    assert!(machine.objects() == before && left == 0, "{left} files below tmp/");
    let alone = machine.command(&["benchmark", "--json"]).env_remove("COPAL_REPOSITORY").ran().ok().json();
    assert_eq!(alone.as_array().unwrap().len(), own.len());
}

#[test]
fn every_command_has_a_manual_page_and_the_first_one_has_the_common_options() {
    let machine = Machine::bare();
    machine.command(&["man", "deep/man1"]).ran().ok();
    let page = |name: &str| fs::read_to_string(machine.path("deep/man1").join(format!("{name}.1"))).unwrap();
    assert!(page("copal").contains("cache\\-dir") && page("copal").contains("copal\\-backup(1)"));
    assert!(page("copal-restore").contains("overwrite") && !page("copal-restore").contains("cache\\-dir"));
    assert!(page("copal-key-add").contains("new\\-key\\-file"));
}
