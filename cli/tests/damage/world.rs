//! World: a repository with one of everything that can be damaged, and what each of its snapshots must hold.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::harm::{Harm, TRAILER, Thing};
use crate::kit::{Image, Machine, PASSPHRASE, Run, image, noise, text};

/// What a snapshot must hold: the path that was backed up, and all that was below it.
pub(crate) struct Held {
    pub(crate) source: PathBuf,
    pub(crate) tree: BTreeMap<PathBuf, Image>,
}

/// Two clients' snapshots; one that is forgotten, and whose data nothing else needs; a tag. Each cell works on a copy of
/// the machine, and with the same sources.
pub(crate) struct World {
    machine: Machine,
    sources: TempDir,
    /// Snapshots that are kept, by their ids.
    pub(crate) snapshots: BTreeMap<String, Held>,
    /// The repository's objects before any harm.
    pub(crate) objects: BTreeMap<String, Vec<u8>>,
    things: BTreeMap<Thing, Vec<String>>,
    /// Another of the same kind as each first one.
    others: BTreeMap<Thing, String>,
}

impl World {
    pub(crate) fn new() -> Self {
        let sources = TempDir::new().unwrap();
        let mut world = Self {
            machine: with_reader(),
            sources,
            snapshots: BTreeMap::new(),
            objects: BTreeMap::new(),
            things: BTreeMap::new(),
            others: BTreeMap::new(),
        };
        world.write("laptop/gone", &noise(1, 100_000));
        world.write("laptop/small", b"small");
        let (forgotten, _) = world.back_up("laptop");
        world.snapshots.clear();
        fs::remove_file(world.source("laptop/gone")).unwrap();
        world.write("laptop/big", &noise(2, 400_000));
        world.write("laptop/docs/a", &b"text ".repeat(10_000));
        world.write("laptop/docs/b", &noise(3, 10_000));
        let (_, first) = world.back_up("laptop");
        world.write("laptop/docs/a", &noise(4, 60_000));
        world.write("laptop/new", &noise(5, 20_000));
        let (_, second) = world.back_up("laptop");
        world.write("desktop/own", &noise(6, 60_000));
        let (_, third) = world.back_up("desktop");
        world.machine.ok(&["forget", &forgotten]);
        world.machine.ok(&["tag", "latest", "--add", "x"]);
        world.name_things(&first, &second, &third);
        world.objects = world.machine.objects();
        world
    }

    /// A copy of the machine.
    pub(crate) fn machine(&self) -> Machine {
        self.machine.copy()
    }

    pub(crate) fn source(&self, name: &str) -> PathBuf {
        self.sources.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.source(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Backs up the source of a host, as that host; gives the snapshot and the names of the objects that came of it.
    fn back_up(&mut self, host: &str) -> (String, Vec<String>) {
        let before = self.machine.objects();
        let source = self.source(host);
        let mut command = self.machine.with_key(&["backup", "--json", "--host", host, source.to_str().unwrap()]);
        let home = if host == "laptop" { "home" } else { "home of desktop" };
        let ran = command.env("HOME", self.machine.path(home)).ran().ok();
        let id = text(&ran.json()["snapshot_id"]);
        self.snapshots.insert(id.clone(), Held { tree: image(&source), source });
        let made = self.machine.objects().into_keys().filter(|name| !before.contains_key(name));
        (id, made.collect())
    }

    fn name_things(&mut self, first: &[String], second: &[String], third: &[String]) {
        let objects = self.machine.objects();
        let one = |names: &[String], prefix: &str| {
            names.iter().find(|name| name.starts_with(prefix)).unwrap_or_else(|| panic!("a {prefix}")).clone()
        };
        let pack = |names: &[String], kind: u8| {
            let packs = names.iter().filter(|name| name.starts_with("packs/") && objects[*name][9] == kind);
            packs.max_by_key(|name| objects[*name].len()).expect("there is one").clone()
        };
        let all =
            |prefix: &str| objects.keys().filter(|name| name.starts_with(prefix)).cloned().collect::<Vec<String>>();
        let roots = all("roots/");
        let named_in = |by: &[&str], prefix: &str| {
            let is_named = |name: &String| by.iter().any(|by| holds_hash(&objects[*by], name));
            all(prefix).into_iter().partition::<Vec<_>, _>(is_named)
        };
        let (runs, old_runs) = named_in(&[&roots[0]], "state/");
        let (segments, old_segments) = named_in(&runs.iter().map(String::as_str).collect::<Vec<_>>(), "index/");
        let slots = self.machine.run(&["key", "list", "--json"]).ok().json();
        let slot = |is_ours: bool| {
            let slots = slots.as_array().unwrap();
            let slot = slots.iter().find(|slot| (slot["kind"] == "key_file") == is_ours).expect("there is one");
            format!("keys/{}", text(&slot["slot"]))
        };
        let (ours, theirs) = (slot(true), slot(false));
        let client = one(second, "manifests/").split('/').nth(1).unwrap().to_owned();
        let (manifests, receipts) =
            ([first, second].map(|made| one(made, "manifests/")), [first, second].map(|made| one(made, "receipts/")));
        let changes = all("changes/");
        let clients = all("clients/");
        let (our_record, their_record): (Vec<_>, Vec<_>) = clients.into_iter().partition(|name| name.contains(&client));
        // Client keys lie in a directory of the repository's id.
        let state = self.machine.path("home/.local/state/copal");
        let repository = fs::read_dir(state).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
        let object = |name: &String| format!("repository/{name}");
        let mut put = |thing, places: Vec<String>, other: String| {
            self.things.insert(thing, places);
            self.others.insert(thing, other);
        };
        let of_another = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/repository/copal");
        let of_another = fs::read_dir(of_another).unwrap().next().unwrap().unwrap().path();
        fs::copy(of_another, self.machine.path("descriptor of another repository")).unwrap();
        put(Thing::Descriptor, vec![object(&one(&all("copal/"), "copal/"))], "descriptor of another repository".into());
        put(Thing::SlotCopy, vec![format!("repository/{ours}/a")], format!("repository/{theirs}"));
        put(
            Thing::Slot,
            ["a", "b"].map(|copy| format!("repository/{ours}/{copy}")).into(),
            format!("repository/{theirs}"),
        );
        let their_folder = their_record[0].rsplit_once('/').expect("it lies in one").0.to_owned();
        put(Thing::RecordCopy, vec![object(&our_record[0])], object(&their_folder));
        put(Thing::ClientRecord, our_record.iter().map(object).collect(), object(&their_folder));
        put(Thing::PackData, vec![object(&pack(first, 0))], object(&pack(third, 0)));
        put(Thing::PackTable, vec![object(&pack(first, 0))], object(&pack(third, 0)));
        put(Thing::TreePack, vec![object(&pack(second, 1))], object(&pack(third, 1)));
        put(Thing::TreeReferences, vec![object(&pack(second, 1))], object(&pack(third, 1)));
        put(Thing::Manifest, vec![object(&manifests[0])], object(&manifests[1]));
        put(Thing::Receipt, vec![object(&receipts[0])], object(&receipts[1]));
        put(Thing::Change, vec![object(&changes[0])], object(&changes[1]));
        put(Thing::Segment, vec![object(&segments[0])], object(&old_segments[0]));
        put(Thing::StateRun, vec![object(&runs[0])], object(&old_runs[0]));
        put(Thing::Root, vec![object(&roots[0])], object(&roots[1]));
        let (readers, texts) = all("reader/").into_iter().partition::<Vec<_>, _>(|name| name.ends_with(".wasm"));
        put(Thing::Reader, vec![object(&readers[0])], object(&texts[0]));
        let keys = |home: &str| format!("{home}/.local/state/copal/{repository}/client");
        put(Thing::ClientKeys, vec![keys("home")], keys("home of desktop"));
    }

    /// Where the thing lies on a machine; the first if there are several such.
    pub(crate) fn places_of(&self, thing: Thing) -> &[String] {
        &self.things[&thing]
    }

    /// Another of the kind, and a name of the kind that is free.
    pub(crate) fn others_of(&self, machine: &Machine, thing: Thing, place: &str) -> (PathBuf, PathBuf) {
        let (folder, last) = place.rsplit_once('/').unwrap();
        let other = match thing {
            Thing::SlotCopy | Thing::Slot | Thing::RecordCopy | Thing::ClientRecord => {
                format!("{}/{last}", self.others[&thing])
            }
            _ => self.others[&thing].clone(),
        };
        let free = match thing {
            Thing::SlotCopy | Thing::Slot => format!("repository/keys/{}/{last}", "5".repeat(32)),
            Thing::PackData | Thing::PackTable | Thing::TreePack | Thing::TreeReferences => {
                format!("repository/packs/55/{}", "5".repeat(64))
            }
            Thing::Segment | Thing::StateRun => format!("{folder}/{}", "5".repeat(64)),
            Thing::Reader => format!("{folder}/{}.wasm", "5".repeat(64)),
            Thing::ClientKeys => format!("{folder}/free"),
            // The newest of them has the lowest number.
            Thing::Root => format!("{folder}/{:020}", last.parse::<u128>().unwrap() - 1),
            _ => {
                let numbers = fs::read_dir(machine.path(folder)).unwrap();
                let numbers =
                    numbers.filter_map(|entry| entry.unwrap().file_name().to_str().unwrap().parse::<u64>().ok());
                let copy = &last[NUMBER.min(last.len())..];
                format!("{folder}/{:020}{copy}", numbers.max().unwrap_or_default() + 1)
            }
        };
        (machine.path(&other), machine.path(&free))
    }

    /// The part of the object that the thing is.
    pub(crate) fn part_of(&self, thing: Thing, bytes: &[u8]) -> Range<usize> {
        // The trailer says how many references there are, and how long the table is that ends with them (docs/format.md).
        let trailer = bytes.len().saturating_sub(TRAILER);
        let number = |at: usize| u32::from_le_bytes(bytes[trailer + at..trailer + at + 4].try_into().unwrap()) as usize;
        match thing {
            Thing::PackTable => trailer - number(12)..bytes.len(),
            Thing::TreeReferences => trailer - number(8) * REFERENCE..trailer,
            _ => 0..bytes.len(),
        }
    }

    /// What names the thing to a person: its name, or that of the folder of all copies or versions; and the other one's,
    /// if it is harmed, too.
    pub(crate) fn names_of(&self, thing: Thing, harmed: Harm) -> Vec<String> {
        let bare = |place: &String| place.strip_prefix("repository/").unwrap_or(place).to_owned();
        let mut names: Vec<String> = self.things[&thing].iter().map(bare).collect();
        match thing {
            Thing::Descriptor => names.push("copal/".into()),
            Thing::SlotCopy | Thing::Slot | Thing::RecordCopy | Thing::ClientRecord => {
                let folders = names.iter().map(|name| name.rsplit_once('/').expect("it lies in one").0.to_owned());
                names = folders.collect();
            }
            _ => {}
        }
        if matches!(harmed, Harm::Swap | Harm::Duplicate) {
            names.extend(self.others.get(&thing).map(bare));
        }
        names
    }
}

/// Bytes of a reference.
const REFERENCE: usize = 24;
/// Digits of a number in a name.
const NUMBER: usize = 20;

/// A machine whose repository carries a reader: the least of all modules.
fn with_reader() -> Machine {
    let machine = Machine::bare();
    fs::write(machine.path("reader.wasm"), b"\0asm\x01\0\0\0").unwrap();
    let words = ["--key-file", "key", "init", "--reader", "reader.wasm"];
    machine.command(&words).env("COPAL_PASSWORD", PASSPHRASE).ran().ok();
    machine
}

/// Whether an object's bytes hold the hash that another one is named by.
fn holds_hash(bytes: &[u8], name: &str) -> bool {
    let hex = name.rsplit('/').next().unwrap();
    let hash: Vec<u8> = (0..32).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect();
    bytes.windows(32).any(|window| window == hash)
}
