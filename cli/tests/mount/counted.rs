//! What a listing and a read cost, counted in reads of the store.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use copal_client::backend::Backend;
use copal_client::browse::{Browser, Node, Terms};
use copal_client::history::History;
use copal_client::location::Location;
use copal_client::repository::Repository;
use copal_client::wait::wait;
use copal_format::keys::slot::SlotInput;
use copal_jobs::view;
use copal_store::fs::FsStore;
use copal_store::record::Record;

use crate::kit::{Machine, noise};

struct Counted {
    browser: Browser,
    store: Arc<Record<FsStore>>,
}

impl Counted {
    fn of(machine: &Machine) -> Self {
        let store = Arc::new(Record::new(FsStore::open(machine.path("repository")).unwrap()));
        let backend = Backend::of_store(&Location::Directory(machine.path("repository")), store.clone());
        let secret = SlotInput::key_file(fs::read_to_string(machine.path("key")).unwrap().trim()).unwrap();
        let repository = Repository::open(&backend, &secret, |_| machine.path("state")).unwrap();
        let view = wait(view::read(repository.store().as_ref())).unwrap();
        let history = History::read(&repository, &view).unwrap();
        let terms = Terms {
            cache_bytes: 64 << 20,
            numeric_owner: false,
            shows: Box::new(|_| true),
            is_own: Box::new(|_| true),
            time_name: Box::new(|time| time.0.to_string()),
            tell: Box::new(|trouble| panic!("{trouble:?}")),
        };
        let browser = Browser::new(repository, &view, history, terms).unwrap();
        store.take();
        Self { browser, store }
    }

    /// A file of 8 MiB of noise.
    fn of_noise(machine: &Machine) -> (Self, Node) {
        machine.write("noise", noise(1, 8 << 20));
        machine.backup(&[]);
        let counted = Self::of(machine);
        let node = counted.at(machine, "noise");
        (counted, node)
    }

    fn at(&self, machine: &Machine, name: &str) -> Node {
        let source = machine.path("source");
        let path = format!("snapshots/latest{}/{name}", source.display());
        path.split('/').filter(|name| !name.is_empty()).fold(self.browser.top(), |node, name| {
            self.browser.follow(self.browser.find(&node, name.as_bytes()).unwrap().expect(name))
        })
    }

    /// Lists a directory in portions, as the kernel does.
    fn list(&self, node: &Node, portion: usize) -> usize {
        let (mut after, mut total) = (None, 0);
        loop {
            let mut listed = 0;
            let list = self.browser.list(node, after, &mut |one| {
                after = Some(one.number);
                listed += 1;
                listed < portion
            });
            list.unwrap();
            if listed == 0 {
                return total;
            }
            total += listed;
        }
    }

    fn reads(&self) -> usize {
        self.store.take().len()
    }
}

#[test]
fn a_listing_reads_the_pages_of_its_own_entries_each_once() {
    let machine = Machine::new();
    for number in 0..12_000 {
        machine.write(&format!("large/{number:05} {}", "n".repeat(60)), "");
        if number % 2 == 0 {
            machine.write(&format!("other/deep/{number:05} {}", "n".repeat(60)), "");
        }
    }
    machine.backup(&[]);
    let blocks = {
        let counted = Counted::of(&machine);
        let large = counted.at(&machine, "large");
        counted.reads();
        assert_eq!(counted.list(&large, 23), 12_000);
        let first = counted.reads();
        assert_eq!(counted.list(&large, 23), 12_000);
        assert_eq!(counted.reads(), 0, "pages are held");
        first
    };
    // Above a large directory only the way to its neighbours is read.
    let counted = Counted::of(&machine);
    let top = counted.at(&machine, "");
    counted.reads();
    assert_eq!(counted.list(&top, 23), 2);
    assert!(counted.reads() <= 4.min(blocks + 2));
    assert!(blocks < 60, "{blocks} reads for 12,000 entries");
}

#[test]
fn who_reads_on_has_the_next_blocks_read_for_it() {
    let machine = Machine::new();
    let (counted, node) = Counted::of_noise(&machine);
    // Three blocks of 1 MiB, one after the other.
    for at in (0..5 << 19).step_by(4096) {
        counted.browser.read(&node, at, 4096).unwrap();
    }
    let (until, mut read) = (Instant::now() + Duration::from_secs(60), 0);
    while read < 5 << 20 {
        read += counted.store.take().iter().map(|event| event.length).sum::<u64>();
        assert!(Instant::now() < until, "only {read} bytes are read");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn each_block_of_a_file_is_read_once_however_it_is_asked_for() {
    let machine = Machine::new();
    let (counted, node) = Counted::of_noise(&machine);
    let mut bytes = Vec::new();
    for at in (0..8 << 20).step_by(4096) {
        bytes.extend(counted.browser.read(&node, at, 4096).unwrap());
    }
    assert!(bytes == noise(1, 8 << 20));
    // Blocks have about 1 MiB; besides, there are pages and tables.
    let events = counted.store.take();
    let mut ranges: Vec<_> = events.iter().map(|event| (&event.key, event.length)).collect();
    let all = ranges.len();
    ranges.sort();
    assert!(all <= 24, "{ranges:?}");
    for at in (0..8 << 20).step_by(1 << 20) {
        counted.browser.read(&node, at, 4096).unwrap();
    }
    assert_eq!(counted.reads(), 0, "blocks are held");
}
