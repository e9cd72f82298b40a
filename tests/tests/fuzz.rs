//! Decoders are total, and allocate little. `COPAL_FUZZ_SECONDS` makes it a longer search, with inputs of its own on every run.
#[path = "../../engine/examples/scale/counting.rs"]
#[allow(dead_code)] // Reason: the measurement uses more of it.
mod counting;

use std::time::{Duration, Instant, SystemTime};

use copal_tests::fuzz::{self, room_of};
use counting::measured;

/// One test, so that nothing else allocates meanwhile.
#[test]
fn no_decoder_panics_on_any_bytes_or_allocates_more_than_it_may() {
    match seconds() {
        None => fuzz::run(1, 20_000, &within_its_room),
        Some(seconds) => search(Duration::from_secs(seconds)),
    }
}

fn within_its_room(target: &str, input: &[u8], run: &mut dyn FnMut()) {
    let ((), most) = measured(run);
    let room = room_of(target, input);
    assert!(most <= room, "the target {target:?} allocated {most} bytes of {room} for {} bytes", input.len());
}

fn seconds() -> Option<u64> {
    let value = std::env::var("COPAL_FUZZ_SECONDS").ok()?;
    Some(value.parse().expect("COPAL_FUZZ_SECONDS is a number of seconds"))
}

fn search(length: Duration) {
    let start = Instant::now();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("the clock is set");
    let first = now.as_nanos() as u64;
    let mut rounds = 0;
    while start.elapsed() < length {
        fuzz::run(first.wrapping_add(rounds), 1_000, &within_its_room);
        rounds += 1;
    }
    println!("{} inputs for each target", rounds * 1_000);
}
