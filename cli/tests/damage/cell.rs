//! Cell: one harm to one thing, one command after it, and what must be so whatever the table says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::harm::{Done, Harm, Thing, harm};
use super::world::{Held, World};
use crate::kit::{Image, Machine, Ran, image};

/// What is run after the harm.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Column {
    Check,
    Backup,
    /// Of every snapshot; the highest exit code counts.
    Restore,
    Prune,
    Rebuild,
    /// What one does about damage: `check --read-data`, `rebuild-index` if that says so, `repair`, `backup`. The code is that of
    /// the check that follows.
    Mend,
}

/// Each with its heading in the table.
pub(crate) const COLUMNS: [(Column, &str); 6] = [
    (Column::Check, "check"),
    (Column::Backup, "backup"),
    (Column::Restore, "restore"),
    (Column::Prune, "prune"),
    (Column::Rebuild, "rebuild-index"),
    (Column::Mend, "mended"),
];

/// Runs the cell; gives the exit code.
pub(crate) fn run(world: &World, thing: Thing, harmed: Harm, column: Column) -> i32 {
    let cell = Cell { world, machine: world.machine(), label: format!("{thing:?} {harmed:?} {column:?}") };
    let done = harm(world, &cell.machine, thing, harmed);
    let code = match column {
        Column::Check => {
            // Those that read less need not find it; what they find they name.
            cell.says(&done, &["check"]);
            cell.says(&done, &["check", "--full"]);
            cell.says(&done, &["check", "--read-data"])
        }
        Column::Backup => cell.says(&done, &["backup", cell.world.source("laptop").to_str().unwrap()]),
        Column::Restore => cell.restore_each(&done).0,
        Column::Prune => cell.says(&done, &["prune", "--grace", "0s"]),
        Column::Rebuild => cell.says(&done, &["rebuild-index"]),
        Column::Mend => return cell.mend(&done),
    };
    cell.nothing_is_lost(&done, thing, harmed);
    code
}

struct Cell<'a> {
    world: &'a World,
    machine: Machine,
    label: String,
}

impl Cell<'_> {
    fn run(&self, words: &[&str]) -> Ran {
        let ran = self.machine.run(words);
        if std::env::var_os("COPAL_CELL").is_some() {
            println!("=== {} {words:?}: {ran}", self.label);
        }
        assert!([0, 1, 3, 4, 5, 10, 12].contains(&ran.code), "{}: {ran}", self.label);
        ran
    }

    /// A command that either succeeds or names what is harmed, and what to do.
    fn says(&self, done: &Done, words: &[&str]) -> i32 {
        let ran = self.run(words);
        if ran.code != 0 {
            let said = format!("{}{}", ran.text(), ran.err);
            // Other commands may refer to "copal check", which must name the objects itself.
            let leaves = words[0] != "check" && said.contains("\"copal check");
            let names = leaves || done.names.iter().any(|name| said.contains(name));
            assert!(names || is_locked_out(&ran), "{}: {:?} in {ran}", self.label, done.names);
            assert!(has_remedy(&ran), "{}: a remedy in {ran}", self.label);
        }
        ran.code
    }

    /// Restores every snapshot. Of each file: all of it is there, or it is named.
    fn restore_each(&self, done: &Done) -> (i32, BTreeMap<&str, Vec<PathBuf>>) {
        let (mut highest, mut lost) = (0, BTreeMap::new());
        for (at, (id, held)) in self.world.snapshots.iter().enumerate() {
            let (ran, differs) = self.restore(&format!("out{at}"), id, held);
            highest = highest.max(ran.code);
            lost.insert(id.as_str(), differs.clone());
            if ran.code == 0 {
                assert_eq!(differs, Vec::<PathBuf>::new(), "{}: {ran}", self.label);
                continue;
            }
            let is_named = |path: &PathBuf| {
                let name = path.to_str().unwrap().trim_start_matches("./");
                ran.err.contains(name)
                    || ran.err.contains("are lost")
                    || self.machine.path(&format!("out{at}")).read_dir().is_err()
            };
            // The time of a directory may be gone with a file in it.
            let unnamed: Vec<_> = differs.iter().filter(|path| !is_named(path)).collect();
            assert!(unnamed.is_empty(), "{}: {unnamed:?} not named in {ran}", self.label);
            let names = is_locked_out(&ran)
                || done.names.iter().any(|name| ran.err.contains(name))
                || ran.err.contains("are lost")
                || !differs.is_empty();
            assert!(names, "{}: {:?} in {ran}", self.label, done.names);
            assert!(has_remedy(&ran), "{}: a remedy in {ran}", self.label);
        }
        (highest, lost)
    }

    /// Restores a snapshot; which paths are not as they were.
    fn restore(&self, out: &str, id: &str, held: &Held) -> (Ran, Vec<PathBuf>) {
        let place = format!("{id}:{}", held.source.display());
        let ran = self.run(&["restore", &place, "--target", out]);
        let found = self.machine.path(out);
        (ran, differences(&held.tree, &found))
    }

    /// Undoes the damage, builds the index again: every snapshot is whole. A duplicate stays, as it takes nothing away,
    /// unless it might be a newer version. Where all objects are as before the harm, there is no index to build, and a
    /// restore would be one of an untouched repository.
    fn nothing_is_lost(&self, done: &Done, thing: Thing, harmed: Harm) {
        if harmed != Harm::Duplicate || matches!(thing, Thing::Descriptor | Thing::RecordCopy | Thing::ClientRecord) {
            done.undo();
        }
        let expected = if harmed == Harm::Duplicate { &[0, 4][..] } else { &[0] };
        // The machine remembers a newer version that it has met.
        let is_as_before = harmed != Harm::Duplicate && self.machine.objects() == self.world.objects;
        if !is_as_before {
            self.run(&["rebuild-index"]).exits_in(&self.label, expected);
        }
        self.run(&["check", "--full"]).exits_in(&self.label, expected);
        if is_as_before {
            return;
        }
        for (id, held) in &self.world.snapshots {
            let (ran, differs) = self.restore("whole", id, held);
            assert_eq!(differs, Vec::<PathBuf>::new(), "{}: {ran}", self.label);
            ran.exits_in(&self.label, &[0]);
            std::fs::remove_dir_all(self.machine.path("whole")).unwrap();
        }
    }

    /// What one does about damage without undoing it. The source is there: its next snapshot is whole.
    fn mend(&self, done: &Done) -> i32 {
        let source = self.world.source("laptop");
        let backup = ["backup", "--json", "--host", "laptop", source.to_str().unwrap()];
        let check = self.run(&["check", "--read-data"]);
        if format!("{}{}", check.text(), check.err).contains("rebuild-index") {
            self.run(&["rebuild-index"]);
        }
        self.run(&["repair"]);
        let mut ran = self.run(&backup);
        if ran.code != 0 && ran.err.contains("rebuild-index") {
            self.run(&["rebuild-index"]);
            ran = self.run(&backup);
        }
        if ran.code == 0 {
            let id = crate::kit::text(&ran.json()["snapshot_id"]);
            let tree = image(&source);
            let (restored, differs) = self.restore("whole", &id, &Held { source, tree });
            assert_eq!(differs, Vec::<PathBuf>::new(), "{}: {restored}", self.label);
            restored.exits_in(&self.label, &[0, 4]);
        }
        let (_, lost) = self.restore_each(done);
        let code = self.run(&["check", "--full"]).code;
        // What can be restored with the damage about can be restored after a prune.
        self.run(&["prune", "--grace", "0s"]);
        for out in 0..self.world.snapshots.len() {
            let _ = std::fs::remove_dir_all(self.machine.path(&format!("out{out}")));
        }
        assert_eq!(self.restore_each(done).1, lost, "{}: after the prune", self.label);
        code
    }
}

/// A key that none of the slots is for is a wrong key: nobody can tell that there was one.
fn is_locked_out(ran: &Ran) -> bool {
    ran.code == 12
}

/// Whether it is said what to do: which command to run, or what else to open the repository with.
fn has_remedy(ran: &Ran) -> bool {
    ran.text().contains("\"copal ")
        || ran.err.contains("\"copal ")
        || is_locked_out(ran) && ran.err.contains("recovery code")
}

impl Ran {
    fn exits_in(&self, label: &str, codes: &[i32]) {
        assert!(codes.contains(&self.code), "{label}: {self}");
    }
}

/// Paths that are not as they were. A directory above something that could not be restored may have another time.
fn differences(expected: &BTreeMap<PathBuf, Image>, out: &Path) -> Vec<PathBuf> {
    let found = if out.is_dir() { image(out) } else { BTreeMap::new() };
    expected.iter().filter(|(path, image)| found.get(*path) != Some(image)).map(|(path, _)| path.clone()).collect()
}
