//! Event: what AWS sends, in the shape that it documents.

use std::fmt::Write;

use serde_json::{Value, json};

/// What S3 tells a queue when an object was created. The key is encoded as in a form.
pub fn notification(bucket: &str, key: &str, size: u64, time: &str, sequencer: u64) -> Value {
    json!({ "Records": [{
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-east-1",
        "eventTime": time,
        "eventName": "ObjectCreated:Put",
        "userIdentity": { "principalId": "AWS:AROAEXAMPLE:client" },
        "requestParameters": { "sourceIPAddress": "192.0.2.7" },
        "responseElements": { "x-amz-request-id": "C3D13FE58DE4C810", "x-amz-id-2": "FMyUVURIY8/IgAtTv8xRjskZQpcIZ9KG4V5Wp6S7S" },
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "copal",
            "bucket": {
                "name": bucket,
                "ownerIdentity": { "principalId": "A3NL1KOZZKExample" },
                "arn": format!("arn:aws:s3:::{bucket}"),
            },
            "object": {
                "key": form_encoded(key),
                "size": size,
                "eTag": "d41d8cd98f00b204e9800998ecf8427e",
                "sequencer": format!("{sequencer:018X}"),
            },
        },
    }] })
}

/// What EventBridge tells of the same. Keys stand as they are.
pub fn eventbridge(bucket: &str, key: &str, size: u64, time: &str, sequencer: u64) -> Value {
    json!({
        "version": "0",
        "id": "17793124-05d4-b198-2fde-7ededc63b103",
        "detail-type": "Object Created",
        "source": "aws.s3",
        "account": "123456789012",
        "time": time,
        "region": "us-east-1",
        "resources": [format!("arn:aws:s3:::{bucket}")],
        "detail": {
            "version": "0",
            "bucket": { "name": bucket },
            "object": {
                "key": key,
                "size": size,
                "etag": "b1946ac92492d2347c6235b4d2611184",
                "sequencer": format!("{sequencer:018X}"),
            },
            "request-id": "N4N7GDK58NMKJ12R",
            "requester": "123456789012",
            "source-ip-address": "192.0.2.7",
            "reason": "PutObject",
        },
    })
}

/// What Lambda hands over of a queue: so many messages at once.
pub fn batch<'a>(messages: impl IntoIterator<Item = (&'a str, &'a str, u32)>) -> Value {
    let records = messages.into_iter().map(|(id, body, receives)| {
        json!({
            "messageId": id,
            "receiptHandle": format!("AQEB{id}"),
            "body": body,
            "attributes": {
                "ApproximateReceiveCount": receives.to_string(),
                "SentTimestamp": "1545082649183",
                "SenderId": "AIDAIENQZJOLO23YVJ4VO",
                "ApproximateFirstReceiveTimestamp": "1545082649185",
            },
            "messageAttributes": {},
            "md5OfBody": "098f6bcd4621d373cade4e832627b4f6",
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:copal-events",
            "awsRegion": "us-east-1",
        })
    });
    json!({ "Records": records.collect::<Vec<_>>() })
}

/// The messages of a batch that a function reports as failed.
pub fn failures(response: &Value) -> Vec<String> {
    let failures = response["batchItemFailures"].as_array().map(Vec::as_slice).unwrap_or_default();
    failures.iter().filter_map(|failure| failure["itemIdentifier"].as_str().map(str::to_owned)).collect()
}

fn form_encoded(key: &str) -> String {
    let mut encoded = String::new();
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'*' => encoded.push(byte.into()),
            b' ' => encoded.push('+'),
            _ => write!(encoded, "%{byte:02X}").expect("text takes what is written"),
        }
    }
    encoded
}
