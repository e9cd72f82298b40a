//! Kit: a small repository, clients that back up a few files for real, and a reader that restores them. Everything
//! follows from seeds: the same seed gives the same objects.

pub mod client;
pub mod craft;
pub mod emulator;
pub mod lambda;
pub mod line;
pub mod machine;
pub mod picture;
pub mod process;
pub mod random;
pub mod reader;
pub mod repository;
pub mod run;
pub mod s3;
pub mod serving;
pub mod slow;
pub mod sshd;
pub mod truth;
pub mod world;

pub use client::{Client, Failure, How};
pub use machine::Machine;
pub use random::{Random, SeededEntropy};
pub use reader::Reader;
pub use repository::{Repository, key};
pub use slow::Slow;
pub use world::{DAY, World};

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use copal_format::change::{Operation, OwnerSignature};
use copal_format::path::TreePath;
use copal_format::policy::{Count, Floor, Hold, Period, Policy, SignedPolicy};
use copal_jobs::budget::Budget;

/// Files of a source: what is backed up, and what must come back.
pub type Tree = BTreeMap<TreePath, Vec<u8>>;

/// Runs a future to its end, also within another one that `block_on` runs.
pub fn alone<T>(future: impl Future<Output = T>) -> T {
    let mut future = Box::pin(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
}

/// A budget that lasts for so many steps.
pub fn asked(steps: u64) -> Budget {
    let left = AtomicU64::new(steps);
    Budget::until(move || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err())
}

/// A path of the kit's trees.
pub fn path(text: &str) -> TreePath {
    TreePath::new(text.as_bytes()).expect("a test names sound paths")
}

/// So many files of so many bytes that nothing makes smaller, the same for a seed, and others for each.
pub fn noise(seed: u64, count: usize, bytes: usize) -> Tree {
    let mut random = Random::new(seed);
    let file = |at: usize| {
        let mut content = vec![0; bytes];
        random.fill(&mut content);
        (path(&format!("{seed}-{at:02}")), content)
    };
    (0..count).map(file).collect()
}

/// So many files that make several chunks each.
pub fn files(seed: u64, count: usize) -> Tree {
    noise(seed, count, 2_000)
}

/// A policy that keeps so many snapshots of each series, leaves garbage for a day, and lets a check read half of the
/// packs; for the owner to sign.
pub fn keep_last(count: u32) -> Operation {
    guarded(count, Floor::default(), None)
}

/// The same as somebody writes it who has a client's key and not the owner's.
pub fn keep_last_unsigned(count: u32) -> Operation {
    let rules = Policy::default().keeping(Period::Last, Count::N(count));
    Operation::Policy(SignedPolicy::new(rules, "", DAY, 2).expect("a sound policy").encode())
}

/// The policy of [`keep_last`] with a guard, for the owner to sign.
pub fn guarded(count: u32, floor: Floor, hold: Option<Hold>) -> Operation {
    guarded_with(DAY, count, floor, hold)
}

/// The same with another grace period.
pub fn guarded_with(grace: Duration, count: u32, floor: Floor, hold: Option<Hold>) -> Operation {
    let rules = Policy::default().keeping(Period::Last, Count::N(count));
    let plain = SignedPolicy::new(rules, "", grace, 2).expect("a sound policy");
    let policy = plain.with_guard(floor, hold).expect("a test names sound shares").encode();
    Operation::OwnerPolicy { policy, signature: OwnerSignature::NONE }
}

pub fn tree<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Tree {
    files.into_iter().map(|(name, content)| (path(name), content.to_vec())).collect()
}
