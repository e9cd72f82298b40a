//! Decoders are total, and allocate little: over the corpus that `cargo xtask fuzz` has found, and over mutations of it.

use copal_tests::fuzz;

/// One test, so that nothing else allocates meanwhile.
#[test]
fn no_decoder_panics_on_any_bytes_or_allocates_more_than_it_may() {
    let _alone = crate::counting::alone();
    fuzz::run(1, 20_000, &|target, input, run| {
        let ((), most) = crate::counting::measured(run);
        fuzz::assert_room(target, input, most);
    });
}
