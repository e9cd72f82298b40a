//! A real S3 server, in a process of its own, with objects in a directory that goes with it.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_s3::config::{BehaviorVersion, Region};
use aws_sdk_s3::types::{
    Event, FilterRule, FilterRuleName, NotificationConfiguration, NotificationConfigurationFilter, QueueConfiguration,
    S3KeyFilter,
};
use copal_store::s3::{Credentials, S3Config, S3Store};
use futures::executor::block_on;
use tempfile::TempDir;

use super::{runtime, tools};
use crate::kit::process::{asked, plain_request, serve, started};

/// Which server.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// versitygw over a directory.
    Versity,
    /// MinIO with one drive.
    Minio,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    place: TempDir,
    address: SocketAddr,
    process: Option<Child>,
    buckets: AtomicU64,
    webhook: Option<SocketAddr>,
}

impl Server {
    /// Starts one and waits until it answers.
    pub fn start(kind: Kind) -> Server {
        Server::launched(kind, None, false)
    }

    /// Starts one that keeps earlier versions of objects in buckets that want it, as [`Server::bucket_with_locks`] does.
    pub fn keeping_versions(kind: Kind) -> Server {
        Server::launched(kind, None, true)
    }

    /// Starts MinIO, which can tell an address of new objects: those that [`Server::notify`] names.
    pub fn telling(webhook: SocketAddr) -> Server {
        Server::launched(Kind::Minio, Some(webhook), false)
    }

    fn launched(kind: Kind, webhook: Option<SocketAddr>, keeps_versions: bool) -> Server {
        let place = tempfile::tempdir().expect("a temporary directory");
        if keeps_versions {
            std::fs::create_dir(place.path().join(VERSIONS)).expect("a directory for versions");
        }
        let Some((process, address)) = serve(|address| launch(kind, place.path(), address, webhook)) else {
            panic!("{kind:?} does not start; it says: {}", said(place.path()));
        };
        Server { kind, place, address, process: Some(process), buckets: AtomicU64::new(0), webhook }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The environment in which a command reaches it.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL_S3", self.endpoint()),
            ("AWS_ACCESS_KEY_ID", NAME.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
            ("AWS_REGION", REGION.to_owned()),
        ]
    }

    /// A new, empty bucket.
    pub fn bucket(&self) -> String {
        let bucket = format!("bucket-{}", self.buckets.fetch_add(1, Ordering::Relaxed));
        let store = block_on(S3Store::open(self.config(&bucket, ""))).expect("a bucket's name");
        block_on(store.create_bucket()).expect("the server makes a bucket");
        bucket
    }

    /// A new, empty bucket with Object Lock, and so with versions.
    pub fn bucket_with_locks(&self) -> String {
        let bucket = format!("bucket-{}", self.buckets.fetch_add(1, Ordering::Relaxed));
        let request = self.client().create_bucket().bucket(&bucket).object_lock_enabled_for_bucket(true);
        runtime().block_on(request.send()).expect("the server makes a bucket with locks");
        bucket
    }

    /// A client with all rights, for what no store of ours does.
    pub fn client(&self) -> aws_sdk_s3::Client {
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .credentials_provider(Credentials::new(NAME, SECRET, None, None, "the kit"))
            .region(Region::new(REGION))
            .endpoint_url(self.endpoint())
            .force_path_style(true)
            .build();
        aws_sdk_s3::Client::from_conf(config)
    }

    /// Has the server tell its webhook of objects that appear below these folders of a bucket.
    pub fn notify(&self, bucket: &str, folders: &[String]) {
        let below = |folder: &String| {
            let rule = FilterRule::builder().name(FilterRuleName::Prefix).value(folder).build();
            let key = S3KeyFilter::builder().filter_rules(rule).build();
            let filter = NotificationConfigurationFilter::builder().key(key).build();
            let queue = QueueConfiguration::builder().queue_arn(WEBHOOK).events(Event::from("s3:ObjectCreated:*"));
            queue.filter(filter).build().expect("a queue and its events")
        };
        let queues = folders.iter().map(below).collect();
        let notifications = NotificationConfiguration::builder().set_queue_configurations(Some(queues)).build();
        let request = self.client().put_bucket_notification_configuration().bucket(bucket);
        let answer = runtime().block_on(request.notification_configuration(notifications).send());
        answer.expect("the server takes it");
    }

    pub fn config(&self, bucket: &str, prefix: &str) -> S3Config {
        let mut config = S3Config::new(bucket, prefix);
        config.endpoint = Some(self.endpoint());
        config.region = Some(REGION.to_owned());
        config.credentials = Some(Credentials::new(NAME, SECRET, None, None, "the kit"));
        config.patience = PATIENCE;
        config
    }

    /// The store in a prefix of a bucket.
    pub fn store(&self, bucket: &str, prefix: &str) -> S3Store {
        block_on(S3Store::open(self.config(bucket, prefix))).expect("names of a bucket and a prefix")
    }

    /// Ends the process, as a crash of the machine would; objects stay.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Starts it again, at the same address.
    pub fn restart(&mut self) {
        self.stop();
        let started = (0..ATTEMPTS).find_map(|attempt| {
            // A connection of somebody else may have its port for a moment.
            std::thread::sleep(Duration::from_millis(500) * attempt);
            launch(self.kind, self.place.path(), self.address, self.webhook)
        });
        assert!(started.is_some(), "{:?} does not start again; it says: {}", self.kind, said(self.place.path()));
        self.process = started;
    }

    /// The directory in which versitygw keeps a bucket's objects as files.
    pub fn files(&self, bucket: &str) -> std::path::PathBuf {
        self.place.path().join("objects").join(bucket)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn launch(kind: Kind, place: &Path, address: SocketAddr, webhook: Option<SocketAddr>) -> Option<Child> {
    let (name, arguments): (_, &[&str]) = match kind {
        Kind::Versity if place.join(VERSIONS).exists() => (
            "versitygw",
            &["--quiet", "--keep-alive", "--port", "ADDRESS", "posix", "--versioning-dir", "../versions", "objects"],
        ),
        Kind::Versity => ("versitygw", &["--quiet", "--keep-alive", "--port", "ADDRESS", "posix", "objects"]),
        Kind::Minio => ("minio", &["server", "--quiet", "--address", "ADDRESS", "objects"]),
    };
    std::fs::create_dir_all(place.join("objects")).expect("a directory for objects");
    let output = std::fs::File::create(place.join("output")).expect("a file for what it says");
    let address_text = address.to_string();
    let mut command = Command::new(tools().join(name));
    command
        .args(arguments.iter().map(|argument| if *argument == "ADDRESS" { address_text.as_str() } else { argument }))
        .current_dir(place)
        .env_clear()
        .env("HOME", place)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs([("ROOT_ACCESS_KEY", NAME), ("ROOT_SECRET_KEY", SECRET)])
        .envs([("MINIO_ROOT_USER", NAME), ("MINIO_ROOT_PASSWORD", SECRET), ("MINIO_BROWSER", "off")])
        .envs(webhook.map(|_| ("MINIO_NOTIFY_WEBHOOK_ENABLE_KIT", "on".to_owned())))
        .envs(webhook.map(|address| ("MINIO_NOTIFY_WEBHOOK_ENDPOINT_KIT", format!("http://{address}/"))))
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("the file is open"))
        .stderr(output);
    // One that is done with starting refuses a request without a signature, and does not put it off.
    started(&mut command, || asked(address, &plain_request(address)) == Some(*b"HTTP/1.1 403"))
}

fn said(place: &Path) -> String {
    std::fs::read_to_string(place.join("output")).unwrap_or_default()
}

const NAME: &str = "copal-tests";
const SECRET: &str = "a secret of the kit's servers";
/// What MinIO calls the webhook.
const WEBHOOK: &str = "arn:minio:sqs::KIT:webhook";
/// Where versitygw keeps earlier versions, beside the directory that it goes into first.
const VERSIONS: &str = "versions";
const REGION: &str = "us-east-1";
const ATTEMPTS: u32 = 5;
/// Six programs may share a processor here.
const PATIENCE: Duration = Duration::from_secs(60);
