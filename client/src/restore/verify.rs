//! Verify: reads everything that was restored again and compares it with the snapshot.

use std::fs::File;
use std::io;
use std::thread;

use copal_format::tree::Extents;
use copal_format::tree::{Content, Entry, EntryKind};
use crossbeam_channel::{Receiver, bounded};

use super::RestoreError;
use super::walk::wanted;
use super::work::Work;
use crate::causes::with_causes;
use crate::materialize::Target;
use crate::read::holes_of;
use crate::system::{self, FileExt};

/// Compares all files, and other entries as far as possible, with the snapshot.
pub(super) fn verify(work: &Work<'_>, target: &Target) -> Result<(), RestoreError> {
    let request = work.request;
    target.write_back();
    thread::scope(|scope| {
        let (entries, to_do) = bounded::<Entry>(64);
        for _ in 0..request.threads {
            let to_do: Receiver<Entry> = to_do.clone();
            scope.spawn(move || {
                for entry in to_do {
                    if !work.is_over() {
                        verify_entry(work, target, &entry);
                    }
                }
            });
        }
        let mut stream = request.scope.entries(request.pages, request.root);
        while let Some(entry) = stream.next_readable()?
            && request.scope.holds(&entry.path)
            && !work.is_over()
        {
            let is_directory = entry.kind() == EntryKind::Directory;
            if !is_directory && request.selection.selects(&entry.path, false) {
                entries.send(entry).expect("the threads take entries until there are no more");
            }
        }
        Ok::<(), RestoreError>(())
    })?;
    work.check()
}

fn verify_entry(work: &Work<'_>, target: &Target, entry: &Entry) {
    let place = work.request.scope.inside(&entry.path);
    if entry.kind() == EntryKind::Socket || !work.is_verifiable(&place) {
        return;
    }
    let right = match entry.kind() {
        EntryKind::File => match target.open_to_read(&place) {
            Err(error) if error.is_denied() => {
                let why = "it cannot be verified: whoever restores it may not read it".to_owned();
                return work.trouble(&place, why);
            }
            Err(error) => Err(with_causes(&error)),
            Ok(file) => verify_file(work, &file, entry),
        },
        _ => match target.has(&place, &wanted(entry)) {
            Ok(true) => Ok(()),
            Ok(false) => Err("it is not what it was restored as".to_owned()),
            Err(error) => Err(with_causes(&error)),
        },
    };
    match right {
        Ok(()) if entry.kind() == EntryKind::File => work.count(|tally| tally.files_verified += 1),
        Ok(()) => {}
        Err(why) => work.differs(&place, why),
    }
}

fn verify_file(work: &Work<'_>, file: &File, entry: &Entry) -> Result<(), String> {
    let unreadable = |error: io::Error| format!("cannot read it again: {error}");
    // Drop the page cache: it does not show what the disk holds.
    system::forget_cached(file);
    let size = file.metadata().map_err(unreadable)?.len();
    if size != entry.size {
        return Err(format!("it has {size} bytes instead of {}", entry.size));
    }
    let extents = Extents::of(entry);
    let differs = || "its content is not what was restored".to_owned();
    let mut is_right = true;
    if let Content::Inline(content) = &entry.content {
        for (offset, expected) in extents.inline(content) {
            let mut found = vec![0; expected.len()];
            file.read_exact_at(&mut found, offset).map_err(unreadable)?;
            is_right &= found == expected;
        }
    }
    let mut failed = None;
    let pieces = work.request.pages.pieces(entry, |offset, piece| {
        if !is_right || failed.is_some() || work.is_over() {
            return;
        }
        match read(file, &extents, offset, piece.length as usize) {
            Ok(bytes) => is_right = work.request.pages.keys().chunk_id(&bytes) == piece.id,
            Err(error) => failed = Some(unreadable(error)),
        }
    });
    pieces.map_err(|error| with_causes(&error))?;
    if let Some(why) = failed {
        return Err(why);
    }
    if !is_right || !has_zeros(file, entry).map_err(unreadable)? {
        return Err(differs());
    }
    Ok(())
}

/// Reads a piece of the content, which may span a hole.
fn read(file: &File, extents: &Extents, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut rest = bytes.as_mut_slice();
    for range in extents.place(offset..offset + length as u64) {
        let (now, after) = rest.split_at_mut((range.end - range.start) as usize);
        file.read_exact_at(now, range.start)?;
        rest = after;
    }
    Ok(bytes)
}

/// Whether the original's holes read as zeros.
fn has_zeros(file: &File, entry: &Entry) -> io::Result<bool> {
    if entry.extras.holes.is_empty() {
        return Ok(true);
    }
    let stored = Extents::new(entry.size, &holes_of(file, entry.size)?);
    let stored: Vec<_> = stored.place(0..entry.size).collect();
    let mut buffer = vec![0; 64 << 10];
    for hole in &entry.extras.holes {
        let first = stored.partition_point(|part| part.end <= hole.start);
        for part in stored[first..].iter().take_while(|part| part.start < hole.end) {
            let mut at = part.start.max(hole.start);
            let end = part.end.min(hole.end);
            while at < end {
                let bytes = &mut buffer[..(end - at).min(64 << 10) as usize];
                file.read_exact_at(bytes, at)?;
                if bytes.iter().any(|&byte| byte != 0) {
                    return Ok(false);
                }
                at += bytes.len() as u64;
            }
        }
    }
    Ok(true)
}
