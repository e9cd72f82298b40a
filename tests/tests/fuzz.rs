//! Decoders are total. `COPAL_FUZZ_SECONDS` makes it a longer search, with inputs of its own on every run.

use std::time::{Duration, Instant, SystemTime};

use copal_tests::fuzz;

#[test]
fn no_decoder_panics_on_any_bytes() {
    match seconds() {
        None => fuzz::run(1, 20_000),
        Some(seconds) => search(Duration::from_secs(seconds)),
    }
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
        fuzz::run(first.wrapping_add(rounds), 1_000);
        rounds += 1;
    }
    println!("{} inputs for each target", rounds * 1_000);
}
