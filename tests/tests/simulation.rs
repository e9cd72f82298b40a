//! The simulation: `COPAL_SIM_RUNS` says how many seeds are tried, `COPAL_SEED` replays one and tells what happened.

use copal_tests::sim::{Setting, run};

#[test]
fn no_schedule_breaks_a_promise() {
    if let Some(seed) = number("COPAL_SEED") {
        let outcome = run(&Setting { seed, is_traced: true, ..Setting::default() });
        println!("{}", outcome.trace.join("\n"));
        assert_eq!(outcome.violation, None, "seed {seed}");
        return;
    }
    let runs = number("COPAL_SIM_RUNS").unwrap_or(RUNS);
    let first = number("COPAL_SIM_FIRST").unwrap_or(1);
    for seed in first..first + runs {
        let outcome = run(&Setting { seed, ..Setting::default() });
        assert_eq!(outcome.violation, None, "replay with COPAL_SEED={seed}");
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

const RUNS: u64 = 150;
