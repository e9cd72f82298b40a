//! Stack: the local stand-in of a whole deployment in AWS: an S3 server, events, functions, schedules, the gateway. Runs
//! until Ctrl-C; `cargo xtask stack` builds and starts it.
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use copal_gateway::router::read_facts;
use copal_store::s3::S3Store;
use copal_tests::kit::Machine;
use copal_tests::kit::lambda::{Cloud, Deployment};
use copal_tests::kit::process::program;
use copal_tests::kit::s3::{Kind, Server};
use futures::executor::block_on;

fn main() {
    let server = Server::start(Kind::Versity);
    let bucket = server.bucket();
    let store = Arc::new(server.store(&bucket, FOLDER));
    let keys: Vec<(String, String)> =
        server.environment().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let address = format!("s3://{bucket}/{FOLDER}");

    println!("making a repository at {address}");
    let mut variables = keys.clone();
    variables.push(("COPAL_PASSWORD".to_owned(), PASSPHRASE.to_owned()));
    let maker = Machine::new("stack", &address, &variables);
    if let Err(error) = maker.run(&["init", "--ingest", "service"]) {
        eprintln!("{error}");
        std::process::exit(1);
    }
    let cloud = Cloud::start(&deployment(&bucket, &keys, &store), store);
    print!("{}", advice(&cloud, &address, &keys));

    cloud.handle().block_on(async {
        // Without a way to hear of it there is nothing to wait for.
        let _ = tokio::signal::ctrl_c().await;
    });
    println!("\nending: what was saved here is gone");
}

/// The functions for the repository, with schedules that somebody who looks on can wait for.
fn deployment(bucket: &str, keys: &[(String, String)], store: &S3Store) -> Deployment {
    let facts = block_on(read_facts(store, None)).ok().flatten().expect("the repository was just made");
    let mut variables = keys.to_vec();
    variables.push(("COPAL_OWNER_FINGERPRINT".to_owned(), facts.owner.to_string()));
    variables.push(("COPAL_OPEN_SLOTS".to_owned(), "true".to_owned()));
    let mut deployment = Deployment::new(bucket, FOLDER, variables);
    deployment.gateway = SocketAddr::from(([127, 0, 0, 1], PORT));
    deployment.shows = true;
    deployment.schedules = vec![
        ("reconcile", Duration::from_secs(30)),
        ("prune", Duration::from_secs(120)),
        ("check", Duration::from_secs(120)),
        ("compact", Duration::from_secs(300)),
    ];
    deployment
}

fn advice(cloud: &Cloud, address: &str, keys: &[(String, String)]) -> String {
    let command = program("copal");
    let exports: String = keys.iter().map(|(name, value)| format!("    export {name}=\"{value}\"\n")).collect();
    format!(
        "
It runs until Ctrl-C. What the functions log is shown here, but for the gateway's. In another terminal:

    export COPAL_PASSWORD='{PASSPHRASE}'
    alias copal={}

through the gateway, without any key of the store:

    export COPAL_REPOSITORY={}
    copal backup ~/Documents
    copal snapshots

or with access keys, straight to the bucket:

{exports}    export COPAL_REPOSITORY={address}
    copal backup ~/Documents
    copal status

Events reach ingest through a queue; reconciliation runs every 30 s, prune and check every 2 minutes, compact every 5.

",
        command.display(),
        cloud.gateway(),
    )
}

const FOLDER: &str = "stack";
const PORT: u16 = 8321;
const PASSPHRASE: &str = "local stack";
