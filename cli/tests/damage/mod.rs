//! The damage matrix: whatever happens to whatever object, every command says so with the right exit code, and nothing
//! that is not damaged is lost. What is expected of each cell stands in `docs/testing.md`, and is read from there.
//! `COPAL_CELL="PackData, Swap, Mend"` runs that cell alone, or those whose names hold the text, and shows all that is said.

mod cell;
mod harm;
mod table;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use cell::{COLUMNS, Column};
use harm::{HARMS, Harm, THINGS, Thing};
use table::Table;
use world::World;

#[test]
fn damage_of_any_object_ends_as_the_table_says_and_loses_nothing_else() {
    let world = World::new();
    let only = std::env::var("COPAL_CELL").ok();
    let cells: Vec<(Thing, Harm, Column)> = THINGS
        .iter()
        .flat_map(|&(thing, _)| HARMS.iter().map(move |&(harm, _)| (thing, harm)))
        .flat_map(|(thing, harm)| COLUMNS.iter().map(move |&(column, _)| (thing, harm, column)))
        .filter(|cell| only.as_ref().is_none_or(|only| format!("{cell:?}").contains(only)))
        .collect();
    let (left, found) = (Mutex::new(cells.iter()), Mutex::new(Table::default()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let Some(&(thing, harm, column)) = left.lock().unwrap().next() else { return };
                    // One cell that fails does not hide what others find.
                    let ended = catch_unwind(AssertUnwindSafe(|| cell::run(&world, thing, harm, column)));
                    found.lock().unwrap().insert(thing, harm, column, ended.unwrap_or(FAILED));
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    if only.is_none() { found.compare() } else { println!("{found:?}") }
}

/// More than there are processors: a cell mostly waits for the disk.
const THREADS: usize = 8;
/// Stands for the exit code of a cell in which something was not as it must be.
const FAILED: i32 = -1;
