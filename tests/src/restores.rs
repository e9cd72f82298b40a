//! Restores: the table of contents and hosts (`tests/restores.json`), its files, and what came of its cells.
//!
//! `cli/tests/reader/` takes this file in as well: it uses nothing of the crate.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The table, and what its cells gave so far.
pub struct Restores {
    table: Value,
    driver: &'static str,
    cells: BTreeMap<(String, String), Result<(), String>>,
}

impl Restores {
    /// The table as the driver in this file uses it: its hosts are that driver's to test.
    pub fn of(driver: &'static str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/restores.json");
        let table = serde_json::from_slice(&fs::read(path).expect("the table is there")).expect("the table is JSON");
        Self { table, driver, cells: BTreeMap::new() }
    }

    /// The names of all files, second names of linked ones too.
    pub fn names(&self) -> Vec<String> {
        let second = |content: &Value| Some(format!("{}, second name", name(content))).filter(|_| is_linked(content));
        self.contents().iter().flat_map(|content| [Some(name(content)), second(content)]).flatten().collect()
    }

    /// Writes all files as they are before what is appended to some.
    pub fn write(&self, folder: &Path) {
        for content in self.contents() {
            let path = folder.join(name(content));
            drop(File::create_new(&path).expect("a new file"));
            append(&path, &content["parts"]);
            if is_linked(content) {
                fs::hard_link(&path, folder.join(format!("{}, second name", name(content)))).expect("a second name");
            }
        }
    }

    /// Appends to those files that are appended to.
    pub fn append(&self, folder: &Path) {
        self.contents().iter().for_each(|content| append(&folder.join(name(content)), &content["appended"]));
    }

    /// Notes what a host gave for a file.
    pub fn note(&mut self, host: &str, name: &str, given: Result<(), String>) {
        self.cells.insert((host.to_owned(), name.to_owned()), given);
    }

    /// Compares each file of a folder with the one that was saved.
    pub fn compare(&mut self, host: &str, saved: &Path, restored: &Path) {
        for name in self.names() {
            self.note(host, &name, same(&saved.join(&name), &restored.join(&name)));
        }
    }

    /// Fails unless every host of the driver gave every file as it was saved.
    pub fn finish(self) {
        let hosts = self.table["hosts"][self.driver].as_array().expect("the driver has hosts");
        let mut wrong = Vec::new();
        for host in hosts.iter().map(|host| host.as_str().expect("a name")) {
            for name in self.names() {
                match self.cells.get(&(host.to_owned(), name.clone())) {
                    Some(Ok(())) => {}
                    Some(Err(why)) => wrong.push(format!("{host}: {name}: {why}")),
                    None => wrong.push(format!("{host}: {name}: not tested")),
                }
            }
        }
        assert_eq!(self.cells.len(), hosts.len() * self.names().len(), "a host that is not in the table");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// The files that test the hosts.
    pub fn drivers(&self) -> Vec<PathBuf> {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        self.table["hosts"].as_object().expect("hosts by driver").keys().map(|file| top.join(file)).collect()
    }

    fn contents(&self) -> &[Value] {
        self.table["contents"].as_array().expect("contents")
    }
}

/// Whether two files have the same bytes, read piece by piece.
pub fn same(saved: &Path, restored: &Path) -> Result<(), String> {
    let open = |path: &Path| File::open(path).map_err(|error| format!("{}: {error}", path.display()));
    let (mut saved, mut restored) = (open(saved)?, open(restored)?);
    let (mut one, mut other) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    for offset in (0_u64..).step_by(1 << 20) {
        let (expected, found) = (fill(&mut saved, &mut one), fill(&mut restored, &mut other));
        if one[..expected] != other[..found] {
            return Err(format!("differs at or after byte {offset}"));
        }
        if expected == 0 {
            break;
        }
    }
    Ok(())
}

fn fill(file: &mut File, buffer: &mut [u8]) -> usize {
    let mut filled = 0;
    loop {
        match file.read(&mut buffer[filled..]).expect("the file can be read") {
            0 => return filled,
            length => filled += length,
        }
    }
}

fn append(path: &Path, parts: &Value) {
    let mut file = OpenOptions::new().write(true).open(path).expect("the file is there");
    let mut end = file.seek(SeekFrom::End(0)).expect("it has an end");
    for part in parts.as_array().into_iter().flatten() {
        let bytes = match (part["hole"].as_u64(), part["noise"].as_u64(), part["text"].as_str()) {
            (Some(length), ..) => {
                end += length;
                file.set_len(end).expect("room for a hole");
                continue;
            }
            (_, Some(length), _) => noise(end ^ length, length as usize),
            (_, _, text) => text.expect("a part is a hole, noise or text").as_bytes().to_vec(),
        };
        file.seek(SeekFrom::Start(end)).expect("any place");
        file.write_all(&bytes).expect("room for the file");
        end += bytes.len() as u64;
    }
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

fn name(content: &Value) -> String {
    content["name"].as_str().expect("a content has a name").to_owned()
}

fn is_linked(content: &Value) -> bool {
    content["linked"] == true
}
