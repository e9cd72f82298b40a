//! Counts the bytes that are in use: of the program's own memory, and of room that a host would have in files.
#![allow(unsafe_code)] // Reason: an allocator is an unsafe trait; each call is passed on as it is.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits until no other test of the program allocates, and lets none begin until the guard is dropped.
#[allow(dead_code)] // Reason: the measurement has no tests.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result, and the most bytes that were in use at once on the way, beside those before.
pub(crate) fn measured<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = USED.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = run();
    (result, usize::try_from(PEAK.load(Relaxed) - before).unwrap_or(0))
}

/// Says that so many bytes, which are about to be allocated or were just given back, are not the program's own: negative
/// if they are given back.
#[allow(dead_code)] // Reason: not every program that counts has such.
pub(crate) fn set_apart(bytes: isize) {
    USED.fetch_sub(bytes, Relaxed);
}

/// Passes everything on to the system's allocator and counts.
struct Counting;

static USED: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call goes to the system's allocator with the arguments it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size().cast_signed();
        let used = USED.fetch_add(size, Relaxed) + size;
        PEAK.fetch_max(used, Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Large ones are moved by the kernel, page by page.
        let more = size.cast_signed() - layout.size().cast_signed();
        let used = USED.fetch_add(more, Relaxed) + more;
        PEAK.fetch_max(used, Relaxed);
        // SAFETY: the same.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size().cast_signed(), Relaxed);
        // SAFETY: the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}
