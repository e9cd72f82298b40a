//! Cloud: a whole deployment on this machine: functions, the queue before ingest, the events of a bucket, schedules.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use copal_jobs::clients;
use copal_store::{Key, Listed, Store, StoreError};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Handle, Runtime};

use super::environment::Outcome;
use super::event;
use super::function::{Function, Settings};
use super::queue::{Faults, Message, Queue};
use super::url;
use super::webhook::Webhook;
use crate::kit::process::program;
use crate::kit::serving::Serving;

/// What is deployed, and where.
#[derive(Clone)]
pub struct Deployment {
    pub bucket: String,
    /// The folder in it; empty for the whole bucket.
    pub prefix: String,
    /// Variables of every function: the owner's fingerprint, the region, the server's address, access keys.
    pub variables: Vec<(String, String)>,
    /// Variables of one function, which go before those of all.
    pub variables_of: BTreeMap<&'static str, Vec<(String, String)>>,
    pub timeout: Duration,
    /// How many requests the gateway's function answers at a time.
    pub gateways: usize,
    /// How often a message is received before it is put aside.
    pub receives_most: u32,
    /// What goes wrong with events.
    pub faults: Faults,
    /// Where the server tells its events; without one they are made from what the bucket lists.
    pub webhook: Option<Arc<Webhook>>,
    /// Jobs that run by themselves, and how often.
    pub schedules: Vec<(&'static str, Duration)>,
    /// Whether the functions' logs are shown.
    pub shows: bool,
    /// Where the gateway's function can be reached; port 0 is a free one.
    pub gateway: SocketAddr,
}

impl Deployment {
    /// A deployment for a bucket, without faults and without schedules.
    pub fn new(bucket: &str, prefix: &str, variables: Vec<(String, String)>) -> Self {
        Self {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            variables,
            variables_of: BTreeMap::new(),
            timeout: Duration::from_secs(60),
            gateways: 4,
            receives_most: 5,
            faults: Faults::default(),
            webhook: None,
            schedules: Vec::new(),
            shows: false,
            gateway: SocketAddr::from(([127, 0, 0, 1], 0)),
        }
    }
}

/// A deployment that runs. Dropped, it ends and kills its processes.
pub struct Cloud {
    functions: BTreeMap<&'static str, Arc<Function>>,
    queue: Arc<Queue>,
    gateway: Serving,
    _webhook: Option<Serving>,
    // Last: what it runs uses the rest.
    runtime: Option<Runtime>,
}

impl Cloud {
    /// Starts it: events of the objects below the store's root reach ingest through the queue.
    pub fn start(deployment: &Deployment, store: Arc<dyn Store>) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts");
        let listener = TcpListener::bind(deployment.gateway).expect("the gateway's address is free");
        let address = listener.local_addr().expect("a bound socket has an address");
        let functions: BTreeMap<&'static str, Arc<Function>> =
            FUNCTIONS.iter().map(|name| (*name, Function::new(settings(deployment, name, address)))).collect();
        let queue = Queue::new(VISIBILITY, deployment.receives_most, deployment.faults.clone());
        let queue = Arc::new(queue);
        let _entered = runtime.enter();
        let gateway = url::serve(functions["gateway"].clone(), listener).expect("a listener becomes a server");
        let listens = |webhook: &Arc<Webhook>| webhook.listen(queue.clone()).expect("a listener becomes a server");
        let webhook = deployment.webhook.as_ref().map(listens);
        if webhook.is_none() {
            tokio::spawn(watch(store, deployment.clone(), queue.clone()));
        }
        for _ in 0..INGESTS {
            tokio::spawn(deliver(queue.clone(), functions["ingest"].clone()));
        }
        for (job, every) in &deployment.schedules {
            let function = if *job == "reconcile" { "ingest" } else { job };
            tokio::spawn(repeat(functions[function].clone(), job, *every));
        }
        drop(_entered);
        Self { functions, queue, gateway, _webhook: webhook, runtime: Some(runtime) }
    }

    /// Invokes a function once, as a schedule does.
    pub fn run(&self, job: &str) -> Outcome {
        self.invoke(if job == "reconcile" { "ingest" } else { job }, &json!({ "job": job }))
    }

    /// Invokes a function once.
    pub fn invoke(&self, function: &str, payload: &Value) -> Outcome {
        self.handle().block_on(self.functions[function].invoke(payload))
    }

    pub fn function(&self, name: &str) -> &Arc<Function> {
        &self.functions[name]
    }

    /// The gateway's address, as clients write it.
    pub fn gateway(&self) -> String {
        self.gateway.url()
    }

    /// The queue before ingest.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Where its tasks run.
    pub fn handle(&self) -> &Handle {
        self.runtime.as_ref().expect("it runs until it is dropped").handle()
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Processes of environments in use are killed with their tasks, the idle ones with their functions.
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}

fn settings(deployment: &Deployment, name: &'static str, gateway: SocketAddr) -> Settings {
    let mut variables = vec![
        ("_HANDLER".to_owned(), name.to_owned()),
        ("COPAL_BUCKET".to_owned(), deployment.bucket.clone()),
        ("COPAL_PREFIX".to_owned(), deployment.prefix.clone()),
        ("COPAL_ORIGIN".to_owned(), format!("http://{gateway}")),
    ];
    variables.extend(deployment.variables.iter().cloned());
    // Of two of one name the last one counts.
    variables.extend(deployment.variables_of.get(name).into_iter().flatten().cloned());
    let concurrency = match name {
        // One more for the schedule.
        "ingest" => INGESTS + 1,
        "gateway" => deployment.gateways,
        _ => 1,
    };
    Settings {
        name: name.to_owned(),
        // Such as the one that is deployed, or what cargo has built.
        program: std::env::var_os("COPAL_FUNCTIONS").map_or_else(|| program("copal-lambda"), PathBuf::from),
        variables,
        timeout: deployment.timeout,
        concurrency,
        // Of the gateway there is a line for every request.
        shows: deployment.shows && name != "gateway",
    }
}

/// Sends an event for every manifest and every change that appears. A server that does not answer is asked again.
async fn watch(store: Arc<dyn Store>, deployment: Deployment, queue: Arc<Queue>) {
    let mut seen: BTreeMap<String, Key> = BTreeMap::new();
    let mut sequencer = 0;
    loop {
        for listed in appeared(store.as_ref(), &mut seen).await.unwrap_or_default() {
            sequencer += 1;
            let name = listed.key.as_str();
            let key =
                if deployment.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", deployment.prefix) };
            queue.send(&event::notification(&deployment.bucket, &key, listed.stat.length, TIME, sequencer));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What has appeared below manifests and changes since it was last looked.
async fn appeared(store: &dyn Store, seen: &mut BTreeMap<String, Key>) -> Result<Vec<Listed>, StoreError> {
    let mut prefixes = vec!["changes/".to_owned()];
    let clients = clients::below(store, "manifests/").await.unwrap_or_default();
    prefixes.extend(clients.iter().map(|client| format!("manifests/{client}/")));
    let mut appeared = Vec::new();
    for prefix in prefixes {
        let after = seen.get(&prefix).cloned();
        let page = store.list(&prefix, after.as_ref(), 1000).await?;
        if let Some(last) = page.objects.last() {
            seen.insert(prefix, last.key.clone());
        }
        appeared.extend(page.objects);
    }
    Ok(appeared)
}

/// Hands messages of the queue to a function, and deletes those that it does not report as failed.
async fn deliver(queue: Arc<Queue>, function: Arc<Function>) {
    loop {
        let messages = queue.receive(BATCH);
        if messages.is_empty() {
            tokio::time::sleep(LOOK).await;
            continue;
        }
        let event = event::batch(messages.iter().map(|Message { id, body, receives, .. }| (&**id, &**body, *receives)));
        let outcome = function.invoke(&event).await;
        let (failed, done): (Vec<String>, Vec<String>) = {
            let failed = match &outcome {
                Outcome::Response(response) => event::failures(response),
                _ => messages.iter().map(|message| message.id.clone()).collect(),
            };
            messages.into_iter().map(|message| message.id).partition(|id| failed.contains(id))
        };
        queue.delete(&done);
        queue.give_back(&failed, AGAIN);
    }
}

/// Runs a job again and again.
async fn repeat(function: Arc<Function>, job: &'static str, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        function.invoke(&json!({ "job": job })).await;
    }
}

/// The functions that are deployed.
const FUNCTIONS: [&str; 5] = ["ingest", "compact", "prune", "check", "gateway"];
/// How many ingests there may be at a time.
const INGESTS: usize = 2;
/// Messages that an ingest gets at once.
const BATCH: usize = 10;
/// How long a message that was not answered stays away.
const VISIBILITY: Duration = Duration::from_secs(90);
const TIME: &str = "2026-11-20T12:00:00.000Z";
/// How often the bucket and the queue are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long a message that failed stays away.
const AGAIN: Duration = Duration::from_millis(500);
