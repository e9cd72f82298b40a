//! Decoders are total, and allocate little: over the corpus that `cargo xtask fuzz` has found, and over mutations of it.
#[path = "../../engine/examples/scale/counting.rs"]
#[allow(dead_code)] // Reason: the measurement uses more of it.
mod counting;

use copal_tests::fuzz;

/// One test, so that nothing else allocates meanwhile.
#[test]
fn no_decoder_panics_on_any_bytes_or_allocates_more_than_it_may() {
    fuzz::run(1, 20_000, &|target, input, run| {
        let ((), most) = counting::measured(run);
        fuzz::assert_room(target, input, most);
    });
}
