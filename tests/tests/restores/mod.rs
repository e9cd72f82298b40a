//! Every content, restored by every host that runs here, is what was saved (`tests/restores.json`).

mod page;

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use copal_format::client::Role;
use copal_format::keys::secret::Secret;
use copal_format::keys::text::encode_key_file;
use copal_format::repository::Parameters;
use copal_reader::{Streams, run};
use copal_store::fs::FsStore;
use copal_store::{Store, list_all};
use copal_tests::kit::process::program;
use copal_tests::kit::{Repository, Tree, World, path};
use copal_tests::restores::{Restores, same};
use futures::executor::block_on;
use tempfile::TempDir;

#[test]
fn every_content_is_restored_by_every_host_as_it_was_saved() {
    let mut restores = Restores::of("tests/tests/restores/mod.rs");
    let place = Place::new();
    restores.write(&place.source());
    place.copal(&["backup", "source"]);
    restores.append(&place.source());
    place.copal(&["backup", "source"]);

    place.copal(&["restore", &place.snapshot(), "--target", "restored"]);
    restores.compare("copal restore", &place.source(), &place.path("restored"));
    place.copal(&["restore", &place.snapshot(), "--target", "verified", "--verify"]);
    restores.compare("copal restore --verify", &place.source(), &place.path("verified"));
    for name in restores.names() {
        let dumped = place.path("dumped");
        place.copal_into(&["dump", &format!("{}/{name}", place.snapshot())], &dumped);
        restores.note("copal dump", &name, same(&place.source().join(&name), &dumped));
    }
    place.copal_into(&["dump", "--format", "tar", &place.snapshot()], &place.path("dump.tar"));
    restores.compare("copal dump --format tar", &place.source(), &place.unpacked("dump.tar"));

    place.reader(&["restore", "repository", "read"]);
    restores.compare("reader into a folder", &place.source(), &place.below("read"));
    place.reader(&["restore", "repository", "--tar", "read.tar"]);
    let unpacked = place.unpacked("read.tar");
    restores.compare("reader as an archive", &place.source(), &place.inside(&unpacked));

    page::restore(&place, &mut restores);
    restores.finish();
}

#[test]
fn the_files_that_test_the_other_hosts_are_there() {
    for driver in Restores::of("tests/tests/restores/mod.rs").drivers() {
        assert!(driver.is_file(), "{} is in the table and not there", driver.display());
    }
}

/// A directory with a source, and a repository in which contents of 16 KiB are inline: a file system's holes end at its blocks,
/// and what lies between two of them has at least 4 KiB.
#[test]
fn owners_and_modes_that_a_browser_could_not_see_are_not_set() {
    let place = Place::new();
    let world = World::new();
    let saved = Tree::from([(path("file"), b"what was saved".to_vec())]);
    let snapshot = world.back_up(&world.register(1, Role::Full), &saved).to_string();
    fs::remove_dir_all(place.path("repository")).expect("a directory of ours");
    fs::create_dir(place.path("repository")).expect("a directory of ours");
    let copy = FsStore::open(place.path("repository")).expect("a store");
    for listed in block_on(list_all(&world.store, "")).expect("memory does not fail") {
        let bytes = block_on(world.store.read(&listed.key)).expect("memory does not fail");
        block_on(copy.create(&listed.key, bytes)).expect("room for it");
    }
    let file = place.path("restored/file");
    let restore = || place.copal(&["restore", &snapshot, "--target", "restored"]);
    restore();
    let mode = || fs::metadata(&file).expect("it is restored").permissions().mode() & 0o777;
    // The kit's snapshots say nothing of what was seen, like those of a browser; their files have mode 0644.
    assert_eq!(mode(), 0o644 & !0o027);
    // Only root may give it to another user.
    if std::os::unix::fs::chown(&file, Some(1000), None).is_ok() {
        restore();
        assert_eq!(fs::metadata(&file).expect("it is there").uid(), 1000);
    }
}

pub(crate) struct Place {
    directory: TempDir,
    pub(crate) kit: Repository,
}

impl Place {
    fn new() -> Self {
        let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("room for files");
        let mut kit = Repository::new();
        kit.parameters = Parameters { inline_max: 16 << 10, ..Parameters::default() };
        let place = Self { directory, kit };
        fs::create_dir(place.source()).expect("a directory of ours");
        fs::create_dir(place.path("repository")).expect("a directory of ours");
        block_on(place.kit.create(&FsStore::open(place.path("repository")).expect("a store"))).expect("a repository");
        fs::write(place.path("key"), encode_key_file(&Secret::new([9; 32])).as_bytes()).expect("room for a key");
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().expect("it is there").join(name)
    }

    pub(crate) fn source(&self) -> PathBuf {
        self.path("source")
    }

    /// The newest snapshot, and the source in it.
    fn snapshot(&self) -> String {
        format!("latest:{}", self.source().display())
    }

    /// Where the source lies below a place to which whole paths were restored.
    fn inside(&self, place: &Path) -> PathBuf {
        place.join(self.source().strip_prefix("/").expect("an absolute path"))
    }

    fn below(&self, name: &str) -> PathBuf {
        self.inside(&self.path(name))
    }

    fn copal(&self, arguments: &[&str]) {
        self.copal_into(arguments, &self.path("told"));
    }

    fn copal_into(&self, arguments: &[&str], output: &Path) {
        let mut copal = Command::new("sh");
        copal.args(["-c", "umask 027; exec \"$0\" \"$@\""]).arg(program("copal"));
        copal.args(arguments).current_dir(self.directory.path()).env_clear();
        copal.env("HOME", self.path("home")).env("COPAL_REPOSITORY", "repository").env("COPAL_KEY_FILE", "key");
        let ran = copal.stdout(File::create(output).expect("room for output")).output().expect("the command runs");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    fn reader(&self, arguments: &[&str]) {
        let in_place = |word: &&str| {
            let is_file = !word.starts_with("--") && *word != "restore";
            if is_file { self.path(word).into() } else { word.into() }
        };
        let mut words: Vec<_> = arguments.iter().map(in_place).collect();
        words.extend(["--key-file".into(), self.path("key").into()]);
        let (mut output, mut messages) = (Vec::new(), Vec::new());
        let streams = Streams { input: &mut std::io::empty(), output: &mut output, messages: &mut messages };
        assert_eq!(run(&words, streams), 0, "{}", String::from_utf8_lossy(&messages));
    }

    /// The folder that an archive was unpacked into.
    fn unpacked(&self, archive: &str) -> PathBuf {
        let folder = self.path(&format!("{archive} unpacked"));
        fs::create_dir(&folder).expect("a directory of ours");
        let mut tar = Command::new("tar");
        tar.args(["--extract", "--same-permissions", "--file"]).arg(self.path(archive)).arg("--directory").arg(&folder);
        let ran = tar.output().expect("tar runs");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        folder
    }
}
