//! What patterns, markers, ignore files and limits leave out.

use super::*;

#[test]
fn what_patterns_exclude_is_not_entered() {
    let tree = ["a/x.o", "a/x.c", "b/cache/x", "b/x.c", "cache", "keep.o"];
    for (patterns, left) in [
        (&[][..], &["a", "a/x.c", "a/x.o", "b", "b/cache", "b/cache/x", "b/x.c", "cache", "keep.o"][..]),
        (&["*.o"], &["a", "a/x.c", "b", "b/cache", "b/cache/x", "b/x.c", "cache"]),
        (&["*.o", "!keep.o"], &["a", "a/x.c", "b", "b/cache", "b/cache/x", "b/x.c", "cache", "keep.o"]),
        (&["cache/"], &["a", "a/x.c", "a/x.o", "b", "b/x.c", "cache", "keep.o"]),
        (&["cache"], &["a", "a/x.c", "a/x.o", "b", "b/x.c", "keep.o"]),
        (&["b", "!b/x.c"], &["a", "a/x.c", "a/x.o", "cache", "keep.o"]),
        (&["b/*", "!b/x.c"], &["a", "a/x.c", "a/x.o", "b", "b/x.c", "cache", "keep.o"]),
    ] {
        let place = Place::with(&tree);
        let options = ScanOptions { excludes: excluding(patterns), ..place.options(&["."]) };
        assert_eq!(place.entries(options), left, "{patterns:?}");
    }
}

#[test]
fn an_excluded_root_is_left_out_with_a_note_and_roots_below_it_are_not() {
    let place = Place::with(&["a/b/c/file", "a/b/other", "a/d"]);
    let options = || ScanOptions { excludes: excluding(&["b"]), ..place.options(&["a", "a/b", "a/b/c"]) };
    assert_eq!(place.entries(options()), ["a", "a/b", "a/b/c", "a/b/c/file", "a/d"]);
    assert_eq!(place.skipped(options()), [("a/b".into(), Skip::ExcludedRoot)]);
}

#[test]
fn exclusions_are_counted() {
    let place = Place::with(&["a/x", "a/y", "b.o", "c"]);
    let options = ScanOptions { excludes: excluding(&["a", "*.o"]), ..place.options(&["."]) };
    assert_eq!(run(options, 1).1.excluded, 2);
}

#[test]
fn a_marked_directory_keeps_its_marker_only() {
    let place = Place::with(&["cache/file", "cache/below/file", "fake/file", "skip/file", "skip/.nobackup", "file"]);
    place.write("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# made by a program");
    place.write("fake/CACHEDIR.TAG", "Signature: no");
    let markers = vec![Marker::cache_directory(), Marker::parse(OsStr::new(".nobackup")).unwrap()];
    let options = || ScanOptions { markers: markers.clone(), ..place.options(&["."]) };
    let left = ["cache", "cache/CACHEDIR.TAG", "fake", "fake/CACHEDIR.TAG", "fake/file", "file", "skip"];
    assert_eq!(place.entries(options()), [left.as_slice(), &["skip/.nobackup"]].concat());
    let skipped = place.skipped(options());
    assert_eq!(skipped[0], ("cache".into(), Skip::Marked("CACHEDIR.TAG".into())));
    assert_eq!(skipped[1], ("skip".into(), Skip::Marked(".nobackup".into())));
}

#[test]
fn a_marker_may_ask_for_a_header() {
    let place = Place::with(&["a/file", "b/file"]);
    place.write("a/tag", "magic and more");
    place.write("b/tag", "magi");
    let markers = vec![Marker::parse(OsStr::new("tag:magic")).unwrap()];
    let options = ScanOptions { markers, ..place.options(&["."]) };
    assert_eq!(place.entries(options), ["a", "a/tag", "b", "b/file", "b/tag"]);
    for bad in ["", ":header", "a/b", ".."] {
        assert!(Marker::parse(OsStr::new(bad)).is_err(), "{bad:?}");
    }
}

#[test]
fn ignore_files_hold_below_their_directory_and_nearer_ones_win() {
    let place = Place::with(&["a/x.o", "a/b/x.o", "a/b/keep.o", "a/b/only", "only", "x.o", "build/file"]);
    place.write("a/.ignore", "# objects\n*.o\n/only\n");
    place.write("a/b/.ignore", "!keep.o\nonly\n");
    place.write(".ignore", "/build/\n");
    let options = ScanOptions { ignore_files: vec![".ignore".into()], ..place.options(&["."]) };
    let left = [".ignore", "a", "a/.ignore", "a/b", "a/b/.ignore", "a/b/keep.o", "only", "x.o"];
    assert_eq!(place.entries(options), left);
}

#[test]
fn ignore_files_of_several_names_are_obeyed_and_the_later_name_decides() {
    let place = Place::with(&["a.o", "b.o", "c"]);
    place.write(".first", "*.o\n!c\n");
    place.write(".second", "!b.o\nc\n");
    let names = [".first", ".second"].map(Into::into).to_vec();
    let options = ScanOptions { ignore_files: names, ..place.options(&["."]) };
    assert_eq!(place.entries(options), [".first", ".second", "b.o"]);
}

#[test]
fn a_bad_line_in_an_ignore_file_is_reported_and_the_others_are_obeyed() {
    let place = Place::with(&["a.o", "b.c"]);
    fs::write(place.path.join(".ignore"), b"*.o\n\xff\xfe\n[z-a]\n").unwrap();
    let options = ScanOptions { ignore_files: vec![".ignore".into()], ..place.options(&["."]) };
    let (events, _) = run(options, 1);
    assert_eq!(place.relative(&events), [".ignore", "b.c"]);
    let problem = events.iter().find_map(|event| match event {
        ScanEvent::BadIgnoreFile { problem, .. } => Some(problem.as_str()),
        _ => None,
    });
    assert_eq!(problem, Some("line 2: not UTF-8"));
}

#[test]
fn large_files_are_left_out_and_large_directories_are_not() {
    let place = Place::with(&["directory/"]);
    place.write("small", "12345");
    place.write("large", "123456");
    let options = ScanOptions { exclude_larger_than: Some(5), ..place.options(&["."]) };
    assert_eq!(place.entries(options), ["directory", "small"]);
}
