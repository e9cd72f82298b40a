//! What decoders and jobs allocate, counted by the allocator: one test at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

#[path = "../../engine/examples/scale/counting.rs"]
mod counting;
mod fuzz;
mod job_memory;
mod service_memory;

/// Waits until no other test allocates, and lets none begin until the guard is dropped.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
