//! Answer: interprets a server's answer to a presigned request, whoever sent it.

use std::path::PathBuf;

use super::trouble::refused;
use crate::{Op, StoreError};

/// Whether a 404 with this body says that the object does not exist. A 404 from a proxy, or about the bucket, does not.
pub fn is_absence(body: &[u8]) -> bool {
    element(body, "Code").as_deref() == Some("NoSuchKey")
}

/// The error for an unexpected answer, the same as for requests with credentials.
pub fn of_answer(op: Op, key: &str, status: u16, body: &[u8]) -> StoreError {
    let (code, message) = (element(body, "Code"), element(body, "Message"));
    if code.as_deref() == Some("NoSuchBucket") {
        return StoreError::Gone { root: PathBuf::from("behind the gateway") };
    }
    refused(status, code.as_deref(), message.as_deref(), None).explain(op, key, "")
}

/// The text of the first element with this name.
fn element(body: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, code: &str) -> StoreError {
        let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>why</Message></Error>");
        of_answer(Op::Create, "packs/1", status, body.as_bytes())
    }

    #[test]
    fn only_the_word_for_it_says_that_an_object_is_not_there() {
        assert!(is_absence(b"<Error><Code>NoSuchKey</Code></Error>"));
        for other in [&b"<Error><Code>NoSuchBucket</Code></Error>"[..], b"<html>404</html>", b"", b"<Code>NoSuchKey"] {
            assert!(!is_absence(other), "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn what_may_pass_is_told_from_what_lasts() {
        for (status, code) in
            [(500, "InternalError"), (503, "SlowDown"), (400, "RequestTimeout"), (400, "BadDigest"), (404, "NotFound")]
        {
            assert!(told(status, code).is_transient(), "{status} {code}");
        }
        assert!(of_answer(Op::Read, "packs/1", 502, b"<html>Bad Gateway</html>").is_transient());
        assert!(matches!(told(403, "AccessDenied"), StoreError::Denied { .. }));
        assert!(matches!(told(507, "XMinioStorageFull"), StoreError::Full { .. }));
        assert!(matches!(told(400, "InvalidRequest"), StoreError::Io { .. }));
        assert!(matches!(told(501, "NotImplemented"), StoreError::Io { .. }));
        assert_eq!(told(404, "NoSuchBucket").to_string(), "store behind the gateway is not there");
    }
}
