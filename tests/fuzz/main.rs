//! One target of `tests/src/fuzz.rs`, the one that `COPAL_FUZZ` names, driven by libFuzzer. Prints their names if it names none.
#![no_main]

#[path = "../../engine/examples/scale/counting.rs"]
mod counting;
#[path = "../src/fuzz.rs"]
#[allow(dead_code)] // Reason: the ordinary suite makes its inputs itself.
mod fuzz;

mod golden {
    pub(crate) fn path(name: &str) -> std::path::PathBuf {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden").join(name)
    }
}

use std::sync::LazyLock;

static TARGET: LazyLock<fuzz::Target> = LazyLock::new(|| {
    let name = std::env::var("COPAL_FUZZ").unwrap_or_default();
    fuzz::targets().into_iter().find(|(known, _)| *known == name).unwrap_or_else(|| {
        fuzz::targets().iter().for_each(|(name, _)| println!("{name}"));
        std::process::exit(0)
    })
});

libfuzzer_sys::fuzz_target!(
    init: {
        LazyLock::force(&TARGET);
        // libFuzzer reads what lies there afterwards.
        if let Some(folder) = std::env::var_os("COPAL_FUZZ_SEEDS").map(std::path::PathBuf::from) {
            for (at, seed) in fuzz::seeds().iter().enumerate() {
                std::fs::write(folder.join(format!("seed-{at}")), seed).expect("wrote a seed");
            }
        }
    },
    |input: &[u8]| {
        let (name, target) = *TARGET;
        let ((), most) = counting::measured(|| target(input));
        fuzz::assert_room(name, input, most);
    }
);
