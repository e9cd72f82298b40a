//! Start: selects the function, sets up log, configuration and store, and runs the loop of the Runtime API.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use copal_jobs::scratch::Files;
use copal_store::Store;
use copal_store::retry::{Backoff, Retry};
use copal_store::s3::{BadConfig, S3Config, S3Store};
use lambda_runtime::{Diagnostic, Error, LambdaEvent, service_fn};
use serde_json::{Value, json};
use tokio::runtime::{Handle, Runtime};

use crate::deadline::Deadline;
use crate::environment::{BadEnvironment, Environment};
use crate::failure::chain;
use crate::function::{Function, Invocation};
use crate::gateway::{self, S3Presigner};
use crate::log;
use crate::services::{Services, SystemEntropy};

/// Why a function does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No function has the name of the handler.
    #[error("the handler is {0:?}, which is none of ingest, compact, prune, check and gateway")]
    Handler(String),
    /// A variable is missing or cannot be used.
    #[error(transparent)]
    Environment(#[from] BadEnvironment),
    /// The bucket's configuration cannot be used.
    #[error(transparent)]
    Store(#[from] BadConfig),
}

/// Runs the function that the handler names. If it cannot start, tells the Runtime API why.
pub fn run() -> Result<(), Error> {
    log::set_up();
    let handler = std::env::var(HANDLER).unwrap_or_default();
    match Function::named(&handler) {
        Some(function) => run_jobs(function),
        None if handler == gateway::NAME => run_gateway(),
        None => refuse(StartError::Handler(handler)),
    }
}

/// Serves events and schedules.
fn run_jobs(function: Function) -> Result<(), Error> {
    runtime()?.block_on(async {
        let (environment, bucket) = match open(Some(function)).await {
            Ok(opened) => opened,
            Err(error) => return refuse(error),
        };
        let store = patient(bucket);
        let scratch = Files::new(&environment.temporary);
        let services =
            Services { environment: &environment, store: &store, entropy: &SystemEntropy, scratch: &scratch };
        lambda_runtime::run(service_fn(async |event: LambdaEvent<Value>| {
            let LambdaEvent { payload, context } = event;
            let deadline = Deadline::at(context.deadline());
            let invocation = Invocation { request: context.request_id, payload, deadline };
            function.invoke(&services, invocation).await.map_err(Diagnostic::from)
        }))
        .await
    })
}

/// Serves HTTP requests.
fn run_gateway() -> Result<(), Error> {
    runtime()?.block_on(async {
        let (environment, bucket) = match open(None).await {
            Ok(opened) => opened,
            Err(error) => return refuse(error),
        };
        let presigner = Arc::new(S3Presigner(bucket.clone()));
        let router = gateway::gateway(&environment, Arc::new(patient(bucket)), presigner).router();
        let answer = async |request| Ok::<_, Infallible>(gateway::answer(router.clone(), &environment, request).await);
        lambda_http::run(service_fn(answer)).await
    })
}

/// The async runtime of the function.
fn runtime() -> std::io::Result<Runtime> {
    // Jobs mostly wait for the store, so the second thread is free for hashing.
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// The configuration, and the store below the prefix.
async fn open(function: Option<Function>) -> Result<(Environment, Arc<S3Store>), StartError> {
    let environment = Environment::of_process()?;
    let mut config = S3Config::new(&environment.bucket, &environment.prefix);
    config.kms_key = environment.kms_key.clone();
    config.lock = environment.object_lock;
    // A check reads everything that is still needed, so it renews the object locks of what it finds.
    config.renews_locks = function == Some(Function::Check);
    if let Some(class) = &environment.storage_class {
        config.storage_classes = ["packs/", "moved/"].map(|start| (start.to_owned(), class.clone())).into();
    }
    let store = S3Store::open_on(config, Handle::current()).await?;
    Ok((environment, Arc::new(store)))
}

/// A store that retries transient errors.
fn patient(store: Arc<S3Store>) -> impl Store {
    let pause = store.pause();
    Retry::new(store, Backoff::default(), pause)
}

/// Tells the Runtime API why the function does not start, and fails.
fn refuse(error: StartError) -> Result<(), Error> {
    let told = chain(&error);
    tracing::error!(error = told, "cannot start");
    let diagnostic = json!({ "errorType": "StartError", "errorMessage": told, "stackTrace": [] });
    if let Ok(address) = std::env::var("AWS_LAMBDA_RUNTIME_API")
        && let Err(untold) = post_init_error(&address, &diagnostic.to_string())
    {
        tracing::error!(error = %untold, "the Runtime API was not told");
    }
    Err(error.into())
}

/// Sends an init error to the Runtime API; the client library has no call for it.
fn post_init_error(address: &str, body: &str) -> std::io::Result<()> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    write!(
        connection,
        "POST /2018-06-01/runtime/init/error HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         lambda-runtime-function-error-type: StartError\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    // The content of the answer does not matter; an answer shows that the request was received.
    connection.read(&mut [0; 64]).map(drop)
}

/// The variable in which Lambda passes the configured handler.
const HANDLER: &str = "_HANDLER";
const PATIENCE: Duration = Duration::from_secs(5);
