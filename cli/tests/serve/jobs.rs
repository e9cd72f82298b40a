//! Jobs under fire: one that panics or is killed is stopped once, and told of.

use super::machine;
use super::server::{At, Server, get};
use crate::kit::{Machine, until};
use crate::managed::world::managed;

/// Waits until something is so; returns what health and metrics say then.
fn told(server: &Server, what: &str, is_so: impl Fn(&str, &str) -> bool) -> (String, String) {
    let look = || (get(&format!("{}/v1/health", server.url)), get(server.metrics.as_ref().unwrap()));
    until(what, || {
        let (health, metrics) = look();
        is_so(&health, &metrics).then_some(())
    });
    // Of the two answers that were so, the first may be older than what the second tells.
    look()
}

fn serve(machine: &Machine, options: &[&str], variable: (&str, &str)) -> Server {
    let serve = ["serve", "--json", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"];
    let mut command = machine.command(&[&serve[..], options].concat());
    command.env(variable.0, variable.1);
    Server::run(command)
}

#[test]
fn a_job_that_panics_is_stopped_once_and_goes_on() {
    let machine = machine();
    machine.backup(&[]);
    let server = serve(&machine, &["--compact-every", "1s"], ("COPAL_JOB_PANICS", "compact"));
    let (health, metrics) = told(&server, "compact runs again", |_, metrics| {
        metrics.contains("copal_stops_total{job=\"compact\"} 1.0")
            && metrics.contains("copal_succeeded{job=\"compact\"}")
    });
    assert!(health.starts_with("HTTP/1.1 200") && health.contains("\"compact\":{"), "{health}");
    assert!(health.contains("\"stops\":1") && health.contains("\"failing\":false"), "{health}");
    assert!(metrics.contains("copal_failures_total{job=\"compact\"} 1.0"), "{metrics}");
    machine.at(&server.url, &["backup", "source"]).ok();
}

#[test]
fn ingest_that_panics_goes_on_with_each_client_alone() {
    let machine = managed();
    machine.write("letter", "Dear reader");
    // The first run of ingest finds nothing to do, and panics; the next ones decide.
    let server = serve(&machine, &["--ingest-every", "1s"], ("COPAL_JOB_PANICS", "ingest"));
    machine.at(&server.url, &["backup", "source"]).ok();
    let (health, _) = told(&server, "ingest panicked", |health, _| health.contains("\"ingest\":{"));
    assert!(health.contains("\"status\":\"ok\"") && health.contains("\"stops\":1"), "{health}");
}

#[test]
fn a_job_that_takes_the_process_with_it_waits_for_its_next_time() {
    let machine = machine();
    machine.backup(&[]);
    let mut server = serve(&machine, &["--check-every", "1s"], ("COPAL_JOB_DIES", "check"));
    assert_ne!(server.process.wait(), 0, "it was killed");
    // As a service manager does. The job that would kill it again does not begin.
    let server = serve(&machine, &["--check-every", "1h"], ("COPAL_JOB_DIES", "check"));
    let (health, metrics) = told(&server, "it is told", |health, _| health.contains("\"check\":{"));
    assert!(health.contains("\"status\":\"degraded\"") && health.contains("\"stops\":1"), "{health}");
    assert!(metrics.contains("copal_stops_total{job=\"check\"} 1.0"), "{metrics}");
    machine.at(&server.url, &["backup", "source"]).ok();
}

#[test]
fn a_forget_through_a_gateway_before_a_full_disk_finds_room() {
    let machine = managed();
    machine.write("letter", "Dear reader");
    let reserve = machine.path("repository/work/reserve");
    let server = serve(&machine, &["--ingest-every", "0s"], ("COPAL_FULL_WHILE", reserve.to_str().unwrap()));
    machine.at(&server.url, &["backup", "source"]).ok();
    std::fs::create_dir_all(reserve.parent().unwrap()).unwrap();
    std::fs::write(&reserve, vec![7; 1 << 20]).unwrap();
    machine.write("picture", "full");
    let refused = machine.at(&server.url, &["backup", "source"]);
    assert!(refused.code != 0 && refused.err.contains("no space left"), "{refused}");
    assert!(reserve.exists());
    machine.at(&server.url, &["forget", "latest"]).ok();
    assert!(!reserve.exists(), "it was given up for the change");
}
