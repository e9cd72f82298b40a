//! The probe: tests whether a file system can create a name without replacing one, by many concurrent attempts.

use std::io;
use std::sync::Barrier;

use super::create::{Naming, Trouble, put_name};
use super::disk::{Disk, TMP, join, random_name};
use crate::{Op, StoreError};

/// Lets several threads create the same name in several rounds. In each, exactly one may succeed, and the file must
/// have its bytes.
pub(super) fn probe(disk: &Disk) -> Result<Naming, StoreError> {
    let explain = |path: &str, trouble| match trouble {
        Trouble::Io(error) => disk.explain(Op::Create, path, error),
        Trouble::Obstructed | Trouble::NotCreateOnly => StoreError::NotCreateOnly { key: path.to_owned() },
    };
    disk.make_directory(TMP).map_err(|error| explain(TMP, error.into()))?;
    // In a directory of its own, because objects too are linked from one directory to another.
    let place = random_name().map(|name| join(TMP, &name)).map_err(|error| explain(TMP, error.into()))?;
    disk.make_directory(&place).map_err(|error| explain(&place, error.into()))?;
    let naming = (0..ROUNDS).map(|round| race(disk, &join(&place, &round.to_string()))).try_fold(None, same);
    let removed = disk.remove_directory(&place);
    let naming = naming.map_err(|trouble| explain(&place, trouble))?;
    removed.map_err(|error| explain(&place, error.into()))?;
    Ok(naming.expect("there is at least one round"))
}

/// All rounds must use the same call: hard links that work only sometimes cannot be trusted.
fn same(before: Option<Naming>, round: Result<Naming, Trouble>) -> Result<Option<Naming>, Trouble> {
    let naming = round?;
    if before.is_some_and(|before| before != naming) {
        return Err(Trouble::NotCreateOnly);
    }
    Ok(Some(naming))
}

fn race(disk: &Disk, target: &str) -> Result<Naming, Trouble> {
    let start = Barrier::new(usize::from(RACERS));
    let results: Vec<_> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..RACERS)
            .map(|racer| {
                scope.spawn({
                    let start = &start;
                    move || run(disk, target, racer, start)
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().expect("a racer does not panic")).collect()
    });
    let verdict = judge(disk, target, results);
    // If no file was created, there is nothing to remove.
    match disk.unlink(target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => verdict.and(Err(error.into())),
        _ => verdict,
    }
}

/// Makes a file and tries to name it; `None` if another thread was first.
fn run(disk: &Disk, target: &str, racer: u8, start: &Barrier) -> Result<Option<Naming>, Trouble> {
    let made = disk.new_tmp();
    // After a failure too, or the other threads wait for ever.
    start.wait();
    let (tmp, mut file) = made?;
    let written = disk.write(&mut file, &tmp, &[racer], false).map_err(Trouble::Io);
    let named = match written.and_then(|()| put_name(disk, &tmp, target)) {
        Err(Trouble::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        named => named.map(Some),
    };
    if !matches!(named, Ok(Some(Naming::Rename))) {
        disk.unlink(&tmp)?;
    }
    named
}

fn judge(disk: &Disk, target: &str, results: Vec<Result<Option<Naming>, Trouble>>) -> Result<Naming, Trouble> {
    let mut winners = Vec::new();
    for (racer, result) in results.into_iter().enumerate() {
        winners.extend(result?.map(|naming| (racer, naming)));
    }
    let &[(winner, naming)] = winners.as_slice() else {
        return Err(Trouble::NotCreateOnly);
    };
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut disk.open_file(target)?, &mut bytes)?;
    if bytes == [winner as u8] { Ok(naming) } else { Err(Trouble::NotCreateOnly) }
}

const RACERS: u8 = 8;
const ROUNDS: usize = 8;
