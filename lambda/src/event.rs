//! Event: the payload of an invocation. An event is only a hint that there may be work; the store says what there is.

use aws_lambda_events::event::eventbridge::EventBridgeEvent;
use aws_lambda_events::event::s3::S3Event;
use aws_lambda_events::event::sqs::SqsEvent;
use copal_format::id::ClientId;
use copal_format::layout;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::Value;

/// What a function is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Messages of a queue, each with its own result.
    Batch(Vec<Message>),
    /// Events that come without a queue.
    Hints(Vec<Hint>),
    /// A scheduled job, by its name.
    Job(String),
}

/// A message of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id, by which a failure is reported.
    pub id: String,
    /// Its hints, or why it cannot be read.
    pub hints: Result<Vec<Hint>, BadEvent>,
}

/// Where there may be work.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hint {
    /// A client has written a manifest.
    Client(ClientId),
    /// A full client has written a change.
    Decisions,
    /// Everything that is undecided.
    Everything,
}

impl Hint {
    /// The client that the hint names.
    pub fn client(&self) -> Option<ClientId> {
        match self {
            Hint::Client(client) => Some(*client),
            Hint::Decisions | Hint::Everything => None,
        }
    }
}

/// An event that the function does not understand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEvent {
    /// It has no known form.
    #[error("an event of no known form: {0}")]
    Form(String),
    /// It asks for a job that this function does not do.
    #[error("this function does not do the job {0:?}")]
    Job(String),
}

/// The bucket and folder whose events count.
#[derive(Copy, Clone, Debug)]
pub struct Watched<'a> {
    /// The bucket.
    pub bucket: &'a str,
    /// The folder, without a slash at its end; empty for the whole bucket.
    pub prefix: &'a str,
}

impl Request {
    /// Parses the payload of an invocation. It is a batch of SQS messages that each hold an S3 event, an EventBridge
    /// event or a scheduled input; or one of these events directly.
    pub fn read(payload: Value, watched: Watched<'_>) -> Result<Self, BadEvent> {
        if payload["Records"].as_array().is_some_and(|all| all.iter().any(|one| one["eventSource"] == "aws:sqs")) {
            let event: SqsEvent = read(payload)?;
            let messages = event.records.into_iter().map(|record| {
                let body = record.body.unwrap_or_default();
                let body = serde_json::from_str(&body).map_err(|error| BadEvent::Form(error.to_string()));
                Message { id: record.message_id.unwrap_or_default(), hints: body.and_then(|body| hints(body, watched)) }
            });
            return Ok(Request::Batch(messages.collect()));
        }
        match payload["job"].as_str() {
            Some(job) => Ok(Request::Job(job.to_owned())),
            None => hints(payload, watched).map(Request::Hints),
        }
    }
}

/// The hints in an S3 event, an EventBridge event or a scheduled input. Events about other objects give no hints.
fn hints(event: Value, watched: Watched<'_>) -> Result<Vec<Hint>, BadEvent> {
    if event["job"] == RECONCILE {
        return Ok(vec![Hint::Everything]);
    }
    // S3 sends this once when notifications are set up.
    if event["Event"] == "s3:TestEvent" {
        return Ok(Vec::new());
    }
    if event["Records"].is_array() {
        let event: S3Event = read(event)?;
        let objects = event.records.into_iter().filter_map(|record| {
            let is_ours = record.s3.bucket.name.as_deref() == Some(watched.bucket);
            let key = record.s3.object.key.filter(|_| is_ours)?;
            watched.hint(&form_decoded(&key))
        });
        return Ok(objects.collect());
    }
    if event["source"] == "aws.s3" {
        let event: EventBridgeEvent<Detail> = read(event)?;
        let Detail { bucket, object } = event.detail;
        // EventBridge does not encode keys.
        let hint = watched.hint(&object.key).filter(|_| bucket.name == watched.bucket);
        return Ok(hint.into_iter().collect());
    }
    Err(BadEvent::Form("neither of S3, nor of EventBridge, nor a scheduled job".to_owned()))
}

impl Watched<'_> {
    fn hint(&self, key: &str) -> Option<Hint> {
        let name = match self.prefix {
            "" => key,
            prefix => key.strip_prefix(prefix)?.strip_prefix('/')?,
        };
        match name.split_once('/')?.0 {
            "manifests" => layout::trailing_number(name).and(layout::client_of(name)).map(Hint::Client),
            "changes" => Some(Hint::Decisions),
            _ => None,
        }
    }
}

/// Decodes a key of an S3 notification: percent-encoded, with plus for a space.
fn form_decoded(key: &str) -> String {
    percent_decode_str(&key.replace('+', " ")).decode_utf8_lossy().into_owned()
}

fn read<T: serde::de::DeserializeOwned>(event: Value) -> Result<T, BadEvent> {
    serde_json::from_value(event).map_err(|error| BadEvent::Form(error.to_string()))
}

/// The object that an EventBridge event is about.
#[derive(Debug, Deserialize, serde::Serialize)]
struct Detail {
    bucket: Bucket,
    object: Object,
}

#[derive(Debug, Deserialize, serde::Serialize)]
struct Bucket {
    name: String,
}

#[derive(Debug, Deserialize, serde::Serialize)]
struct Object {
    key: String,
}

/// The scheduled job that finds everything whose event was lost.
pub const RECONCILE: &str = "reconcile";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const WATCHED: Watched<'static> = Watched { bucket: "backups", prefix: "our team" };
    const CLIENT: ClientId = ClientId([0xab; 16]);

    fn notification(bucket: &str, key: &str) -> Value {
        json!({ "Records": [{
            "eventVersion": "2.1",
            "eventSource": "aws:s3",
            "awsRegion": "eu-central-1",
            "eventTime": "2026-11-20T12:00:00.000Z",
            "eventName": "ObjectCreated:Put",
            "userIdentity": { "principalId": "A1" },
            "requestParameters": { "sourceIPAddress": "192.0.2.1" },
            "responseElements": { "x-amz-request-id": "1", "x-amz-id-2": "2" },
            "s3": {
                "s3SchemaVersion": "1.0",
                "configurationId": "manifests",
                "bucket": { "name": bucket, "ownerIdentity": { "principalId": "A1" }, "arn": "arn:aws:s3:::backups" },
                "object": { "key": key, "size": 300, "eTag": "e", "sequencer": "0055AED6DCD90281E5" },
            },
        }] })
    }

    fn key() -> String {
        format!("our+team/{}", layout::manifest(CLIENT, 7))
    }

    fn queued(body: &Value) -> Value {
        json!({ "Records": [{ "messageId": "m-1", "eventSource": "aws:sqs", "body": body.to_string() }] })
    }

    #[test]
    fn keys_are_decoded_as_s3_writes_them_and_as_eventbridge_does() {
        let percent = notification("backups", &key().replace('+', "%20"));
        assert_eq!(Request::read(percent, WATCHED), Ok(Request::Hints(vec![Hint::Client(CLIENT)])));
        let event = json!({
            "version": "0",
            "id": "17793124-05d4-b198-2fde-7ededc63b103",
            "detail-type": "Object Created",
            "source": "aws.s3",
            "account": "111122223333",
            "time": "2026-11-20T12:00:00Z",
            "region": "eu-central-1",
            "resources": ["arn:aws:s3:::backups"],
            "detail": {
                "version": "0",
                "bucket": { "name": "backups" },
                "object": { "key": key().replace('+', " "), "size": 5, "etag": "e", "sequencer": "00617F08299329D189" },
                "request-id": "N4N7GDK58NMKJ12R",
                "requester": "123456789012",
                "source-ip-address": "1.2.3.4",
                "reason": "PutObject",
            },
        });
        assert_eq!(Request::read(event.clone(), WATCHED), Ok(Request::Hints(vec![Hint::Client(CLIENT)])));
        let request = Request::read(queued(&event), WATCHED).unwrap();
        assert!(matches!(request, Request::Batch(of) if of[0].hints == Ok(vec![Hint::Client(CLIENT)])));
    }

    #[test]
    fn a_change_hints_at_decisions() {
        let request = Request::read(notification("backups", &format!("our+team/{}", layout::change(3))), WATCHED);
        assert_eq!(request, Ok(Request::Hints(vec![Hint::Decisions])));
    }

    #[test]
    fn other_objects_and_other_buckets_hint_at_nothing() {
        let nothing = Ok(Request::Hints(Vec::new()));
        assert_eq!(Request::read(notification("others", &key()), WATCHED), nothing);
        assert_eq!(Request::read(notification("backups", "our+team/roots/1"), WATCHED), nothing);
        assert_eq!(Request::read(notification("backups", "our+team/manifests/zz/1"), WATCHED), nothing);
        assert_eq!(Request::read(notification("backups", &layout::manifest(CLIENT, 7)), WATCHED), nothing);
        let test = json!({ "Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "backups" });
        assert_eq!(Request::read(test, WATCHED), nothing);
    }

    #[test]
    fn a_scheduled_job_is_named_also_through_a_queue() {
        let job = json!({ "job": "reconcile" });
        assert_eq!(Request::read(job.clone(), WATCHED), Ok(Request::Job("reconcile".to_owned())));
        let request = Request::read(queued(&job), WATCHED).unwrap();
        assert!(matches!(request, Request::Batch(of) if of[0].hints == Ok(vec![Hint::Everything])));
    }

    #[test]
    fn a_message_that_says_nothing_known_fails_alone() {
        let good = queued(&notification("backups", &key()))["Records"][0].clone();
        let bad = json!({ "messageId": "m-2", "eventSource": "aws:sqs", "body": "{" });
        let Request::Batch(messages) = Request::read(json!({ "Records": [good, bad] }), WATCHED).unwrap() else {
            panic!("messages of a queue are a batch");
        };
        assert!(messages[0].hints.is_ok() && messages[1].hints.is_err());
        assert!(Request::read(json!({ "hello": 1 }), WATCHED).is_err());
        assert!(Request::read(json!(null), WATCHED).is_err());
    }
}
