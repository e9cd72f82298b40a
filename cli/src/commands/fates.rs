//! Fates: reports each entry for `backup -v`, and what is left out for `backup --dry-run -v`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use copal_client::progress::{Fate, Progress};
use copal_client::scan::{AsPath, OnExcluded};

use crate::report::summary::{EntryFate, LeftOut};
use crate::report::{Amount, Printer};

/// Counters that also report the fate of each entry with `-v`.
pub(super) fn progress(report: &Printer) -> Progress {
    if !report.says(Amount::Verbose) {
        return Progress::default();
    }
    let report = report.clone();
    Progress::telling(move |entry, fate| {
        if fate != Fate::Unchanged || report.says(Amount::Debug) {
            report.event(&EntryFate::of(entry, fate));
        }
    })
}

/// Counts what each pattern leaves out, with all that lies below.
#[derive(Clone, Default)]
pub(super) struct Excluded(Arc<Mutex<BTreeMap<String, LeftOut>>>);

impl Excluded {
    pub(super) fn counting(&self, as_path: AsPath) -> OnExcluded {
        let counts = self.0.clone();
        Box::new(move |path, by| {
            let mut found = LeftOut { by: by.to_owned(), ..LeftOut::default() };
            measure(&as_path.source_of(path), &mut found);
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            let sum = counts.entry(by.to_owned()).or_insert(LeftOut { by: by.to_owned(), ..LeftOut::default() });
            sum.entries += found.entries;
            sum.bytes += found.bytes;
        })
    }

    pub(super) fn counted(&self) -> Vec<LeftOut> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// Adds an entry and everything below it. An unreadable directory counts as empty: nothing in it could be saved anyway.
fn measure(path: &Path, found: &mut LeftOut) {
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        found.entries += 1;
        found.bytes += if metadata.is_file() { metadata.len() } else { 0 };
        if metadata.is_dir() {
            left.extend(fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
}
