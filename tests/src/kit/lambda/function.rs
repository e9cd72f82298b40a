//! Function: a program, its configuration, and the execution environments that run it at the moment.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::environment::{Environment, Log, Outcome};

/// How a function is configured.
#[derive(Clone, Debug)]
pub struct Settings {
    pub name: String,
    pub program: PathBuf,
    /// Its variables besides those that Lambda sets.
    pub variables: Vec<(String, String)>,
    pub timeout: Duration,
    /// How many invocations there may be at a time.
    pub concurrency: usize,
    /// Whether its log is shown.
    pub shows: bool,
}

pub struct Function {
    settings: Settings,
    idle: Mutex<Vec<Environment>>,
    busy: Mutex<Vec<Pid>>,
    slots: Semaphore,
    log: Arc<Log>,
    requests: AtomicU64,
    cold_starts: Mutex<Vec<Duration>>,
}

impl Function {
    /// A function that nothing runs yet.
    pub fn new(settings: Settings) -> Arc<Self> {
        let shown = settings.shows.then(|| settings.name.clone());
        let slots = Semaphore::new(settings.concurrency);
        Arc::new(Self {
            settings,
            idle: Mutex::default(),
            busy: Mutex::default(),
            slots,
            log: Arc::new(Log::new(shown)),
            requests: AtomicU64::new(0),
            cold_starts: Mutex::default(),
        })
    }

    /// Invokes it, in an environment that is idle or in a new one.
    pub async fn invoke(&self, payload: &Value) -> Outcome {
        let _slot = self.slots.acquire().await.expect("nobody closes it");
        let warm = self.idle.lock().expect("nobody panics with it").pop();
        let mut environment = match warm {
            Some(environment) => environment,
            None => match self.start().await {
                Ok(environment) => environment,
                Err(why) => return Outcome::Error { kind: "Runtime".to_owned(), message: why },
            },
        };
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let id = format!("{:08x}-0000-4000-8000-{:012x}", std::process::id(), number);
        let pid = environment.pid();
        self.busy.lock().expect("nobody panics with it").push(pid);
        let outcome = environment.invoke(&id, payload, self.settings.timeout).await;
        self.busy.lock().expect("nobody panics with it").retain(|busy| *busy != pid);
        if matches!(outcome, Outcome::Response(_) | Outcome::Error { .. }) {
            self.idle.lock().expect("nobody panics with it").push(environment);
        }
        outcome
    }

    /// Kills one process that works at the moment, as a machine that fails does. Whether there was one.
    pub fn kill_one(&self) -> bool {
        let busy = self.busy.lock().expect("nobody panics with it");
        busy.first().is_some_and(|pid| kill_process(*pid, Signal::KILL).is_ok())
    }

    /// What its processes have written so far.
    pub fn log(&self) -> Vec<String> {
        self.log.lines()
    }

    /// The lines of its log that are metrics.
    pub fn metrics(&self) -> Vec<Value> {
        let lines = self.log().into_iter().filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        lines.filter(|line| line.get("_aws").is_some()).collect()
    }

    /// How long each of its cold starts took.
    pub fn cold_starts(&self) -> Vec<Duration> {
        self.cold_starts.lock().expect("nobody panics with it").clone()
    }

    async fn start(&self) -> Result<Environment, String> {
        let Settings { name, program, variables, .. } = &self.settings;
        let mut all = vec![
            ("AWS_LAMBDA_FUNCTION_NAME".to_owned(), name.clone()),
            ("AWS_LAMBDA_FUNCTION_VERSION".to_owned(), "$LATEST".to_owned()),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE".to_owned(), "1769".to_owned()),
            ("AWS_LAMBDA_LOG_GROUP_NAME".to_owned(), format!("/aws/lambda/{name}")),
            ("AWS_LAMBDA_LOG_STREAM_NAME".to_owned(), "2026/01/01/[$LATEST]0".to_owned()),
            ("AWS_LAMBDA_INITIALIZATION_TYPE".to_owned(), "on-demand".to_owned()),
            ("AWS_EXECUTION_ENV".to_owned(), "AWS_Lambda_provided.al2023".to_owned()),
            ("LANG".to_owned(), "en_US.UTF-8".to_owned()),
            ("TZ".to_owned(), ":UTC".to_owned()),
        ];
        all.extend(variables.iter().cloned());
        let environment = Environment::start(program, name, &all, INIT, &self.log).await?;
        self.cold_starts.lock().expect("nobody panics with it").push(environment.cold_start);
        Ok(environment)
    }
}

/// Longer than the ten seconds that Lambda allows for the init phase: the machine may be busy.
const INIT: Duration = Duration::from_secs(60);
