//! A source that is read elsewhere.

use super::*;

impl Place {
    /// Reads a part of the place as if it lay at this path.
    fn read_as(&self, source: &str, path: &str) -> ScanOptions {
        let root = Root::named(Path::new(path)).unwrap();
        let as_path = AsPath::new(&root, &self.path.join(source)).unwrap();
        ScanOptions { roots: vec![root], as_path, ..ScanOptions::default() }
    }
}

fn paths(events: &[ScanEvent]) -> Vec<String> {
    entries(events).iter().map(|scanned| scanned.path.to_string()).collect()
}

#[test]
fn a_source_stands_at_its_path_below_the_directories_above_it() {
    let place = Place::with(&["home/a/file", "home/out", "home/z"]);
    let options =
        || ScanOptions { excludes: excluding(&["/no/such/home/out"]), ..place.read_as("home", "/no/such/home") };
    for threads in [0, 2] {
        let (events, totals) = run(options(), threads);
        let expected = ["", "no", "no/such", "no/such/home", "no/such/home/a", "no/such/home/a/file", "no/such/home/z"];
        assert_eq!((paths(&events), totals.excluded), (expected.map(str::to_owned).to_vec(), 1));
        let entries = entries(&events);
        let stat = |path: &Path| EntryStat::of_path(path).unwrap();
        assert_eq!(entries[0].stat.id(), stat(Path::new("/")).id());
        assert_eq!(entries[1].stat, stat(&place.path));
        assert_eq!(entries[3].stat, stat(&place.path.join("home")));
    }
}

#[test]
fn a_source_may_be_a_file_or_stand_at_the_top() {
    let place = Place::with(&["home/a/file"]);
    assert_eq!(paths(&run(place.read_as("home/a/file", "/x/y"), 1).0), ["", "x", "x/y"]);
    assert_eq!(paths(&run(place.read_as("home", "/"), 1).0), ["", "a", "a/file"]);
    assert_eq!(paths(&run(place.read_as("home", "//x/./y/"), 1).0), ["", "x", "x/y", "x/y/a", "x/y/a/file"]);
}

#[test]
fn paths_lead_to_where_the_entries_lie() {
    let place = Place::with(&["home/a"]);
    let as_path = place.read_as("home", "/no/home").as_path;
    let lies = |path: &str| as_path.source_of(&TreePath::new(path).unwrap());
    assert_eq!(lies("no/home"), place.path.join("home"));
    assert_eq!(lies("no/home/a"), place.path.join("home/a"));
    assert_eq!([lies("no"), lies("")], [place.path.clone(), PathBuf::from("/")]);
    assert_eq!(as_path.place_of(Path::new("/no/home/a")), place.path.join("home/a"));
    assert_eq!(AsPath::default().place_of(Path::new("not absolute")), Path::new("not absolute"));
    let top = place.read_as("home", "/").as_path;
    assert_eq!(top.source_of(&TreePath::new("a").unwrap()), place.path.join("home/a"));
}

#[test]
fn the_repository_in_a_snapshot_of_its_file_system_is_not_backed_up_into_itself() {
    let place = Place::with(&["home/repository/pack", "home/file"]);
    let there = EntryStat::of_path(&place.path.join("home/repository")).unwrap().id();
    assert!(there.birth.is_some(), "this file system knows when a directory was made");
    let snapshot = FileId { device: there.device + 1, ..there };
    let options = |source, forbidden| ScanOptions { forbidden: Some(forbidden), ..place.read_as(source, "/no") };
    assert_eq!(paths(&run(options("home", snapshot), 1).0), ["", "no", "no/file", "no/repository"]);
    for source in ["home/repository", "home/repository/pack"] {
        assert!(matches!(Scan::new(options(source, snapshot)), Err(ScanError::InRepository(_))), "{source}");
    }
    let other = FileId { birth: Some(copal_format::time::Time(1)), ..snapshot };
    assert_eq!(paths(&run(options("home", other), 1).0).len(), 5);
    let plain = ScanOptions { forbidden: Some(snapshot), ..place.options(&["home"]) };
    assert!(place.entries(plain).contains(&"home/repository/pack".to_owned()));
}
