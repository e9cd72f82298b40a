//! Jobs of a service: what clients make it do.

use std::net::Ipv4Addr;

use copal_jobs::context::Entropy;
use copal_store::memory::MemoryStore;

use super::*;
use crate::router::Quota;
use crate::serve::Socket;
use crate::serve::metrics::Metrics;
use crate::serve::watch::Watch;

struct Zeros;

impl Entropy for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

/// A service whose schedule runs nothing, and what it counts.
fn service() -> (Jobs, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::new(|| 7));
    let work = Work {
        store: Arc::new(MemoryStore::new()),
        entropy: Arc::new(Zeros),
        owner: None,
        metrics: metrics.clone(),
        watch: Watch::new(None),
        note: Arc::new(|_: &JobNote| {}),
    };
    let never = Duration::ZERO;
    let socket = Socket {
        address: (Ipv4Addr::LOCALHOST, 0).into(),
        tls: None,
        public_url: None,
        host_names: Vec::new(),
        connections_per_address: 1,
        metrics: None,
        page: None,
        schedule: Schedule { expire: never, compact: never, prune: never, check: never },
    };
    let options = Options {
        door: Door::Socket(Box::new(socket)),
        open_slots: false,
        accept_init: false,
        quota: Quota::default(),
        cors: None,
        ingest_every: never,
    };
    (Jobs::start(work, &options, || 7), metrics)
}

#[test]
fn a_flood_of_suspected_packs_is_one_look_with_a_rest_and_no_shutdown_waits_for_the_others() {
    let (jobs, metrics) = service();
    let suspect = jobs.suspecter();
    for batch in 0..64 {
        suspect((0..=255).map(|number| PackId([number; 32])).chain([PackId([batch; 32])]).collect());
    }
    let looked = || metrics.text().contains("copal_runs_total{job=\"look\"} 1.0");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !looked() {
        assert!(Instant::now() < deadline, "{}", metrics.text());
        thread::sleep(Duration::from_millis(10));
    }
    suspect(vec![PackId([1; 32])]);
    // Long enough for a look that does not rest, and less than the rest.
    thread::sleep(TICK * 3);
    assert!(looked(), "{}", metrics.text());
    let ending = Instant::now();
    jobs.finish();
    assert!(looked(), "{}", metrics.text());
    assert!(ending.elapsed() < Duration::from_secs(30), "{:?}", ending.elapsed());
}
