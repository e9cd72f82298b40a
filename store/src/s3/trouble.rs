//! Errors between client and server, without secrets from headers or addresses.

use std::error::Error;
use std::path::PathBuf;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::retry::ErrorKind;

use crate::error::{Causes, printable};
use crate::{Op, StoreError};

/// The cause inside a [`StoreError`] of an S3 store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Trouble {
    /// The server refuses.
    #[error("the server says {code} ({status}): {message}")]
    Refused { status: u16, code: String, message: String },
    /// No usable credentials were found.
    #[error("no usable AWS credentials: {0}")]
    Credentials(String),
    /// This machine's clock differs from the server's by more than the server accepts.
    #[error("this machine's clock differs too much from the server's")]
    ClockSkew,
    /// The bucket is in another region.
    #[error("the bucket is in another region{}", .0.as_ref().map_or(String::new(), |region| format!(": {region}")))]
    Region(Option<String>),
    /// The connection failed, or the answer was incomplete.
    #[error("{0}")]
    Connection(String),
    /// The answer is not what the protocol says.
    #[error("the server's answer cannot be used: {0}")]
    Answer(&'static str),
    /// No answer, or no next piece of one, within the time limit.
    #[error("no answer for {0} s")]
    Silence(u64),
    /// A request cannot be presigned.
    #[error("the request cannot be signed: {0}")]
    Unsignable(&'static str),
}

/// A request that the SDK reports as failed.
pub(super) struct Failed {
    /// The HTTP status, if the server answered.
    pub(super) status: Option<u16>,
    /// S3's error code, if there was one.
    pub(super) code: Option<String>,
    trouble: Trouble,
    kind: Kind,
}

enum Kind {
    Passing,
    Denied,
    Full,
    NoBucket,
    Lasting,
}

impl Failed {
    /// Reads the SDK's error; keeps nothing else of it.
    pub(super) fn of<E>(error: SdkError<E, HttpResponse>) -> Failed
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        match &error {
            SdkError::ServiceError(refusal) => {
                let (answer, meta) = (refusal.raw(), refusal.err());
                let region = answer.headers().get("x-amz-bucket-region").map(printable);
                refused(answer.status().as_u16(), meta.code(), meta.message(), region)
            }
            SdkError::TimeoutError(_) => Failed::without_answer(&error, Kind::Passing),
            // An answer that cannot be read was cut short, or came from a proxy.
            SdkError::ResponseError(_) => Failed::without_answer(&error, Kind::Passing),
            SdkError::DispatchFailure(failure) => {
                let passes = failure.is_io()
                    || failure.is_timeout()
                    || matches!(failure.as_other(), Some(ErrorKind::TransientError | ErrorKind::ServerError));
                Failed::without_answer(&error, if passes { Kind::Passing } else { Kind::Lasting })
            }
            _ => Failed::without_answer(&error, Kind::Lasting),
        }
    }

    /// The error for one object in a request for many.
    pub(super) fn of_one(code: Option<&str>, message: Option<&str>) -> Failed {
        let status = match code {
            Some("AccessDenied") => 403,
            Some("InternalError" | "SlowDown" | "ServiceUnavailable") => 503,
            _ => 400,
        };
        refused(status, code, message, None)
    }

    /// The error if an answer has no code, and the request shows that the bucket is missing.
    pub(super) fn no_bucket() -> Failed {
        refused(404, Some("NoSuchBucket"), None, None)
    }

    fn without_answer(error: &(dyn Error + 'static), kind: Kind) -> Failed {
        let chain = || std::iter::successors(Some(error), |error| (*error).source());
        let texts: Vec<String> = chain().map(|error| printable(&error.to_string())).collect();
        let text = texts.join(": ");
        let (trouble, kind) = if chain().any(|error| error.downcast_ref::<CredentialsError>().is_some()) {
            (Trouble::Credentials(text), Kind::Denied)
        } else {
            (Trouble::Connection(text), kind)
        };
        Failed { status: None, code: None, trouble, kind }
    }

    pub(super) fn explain(self, op: Op, key: &str, bucket: &str) -> StoreError {
        let (key, source) = (key.to_owned(), self.trouble);
        match self.kind {
            Kind::Passing => source.passing(op, &key),
            Kind::Lasting => source.lasting(op, &key),
            Kind::Denied => StoreError::Denied { op, key, source: source.into() },
            Kind::Full => StoreError::Full { op, key, source: source.into() },
            Kind::NoBucket => StoreError::Gone { root: PathBuf::from(format!("s3://{bucket}")) },
        }
    }
}

/// The error for an answer other than the expected one.
pub(super) fn refused(status: u16, code: Option<&str>, message: Option<&str>, region: Option<String>) -> Failed {
    let code = code.map(printable);
    let word = code.as_deref().unwrap_or_default();
    let kind = match (status, word) {
        (_, "NoSuchBucket") => Kind::NoBucket,
        (507, _) | (_, "QuotaExceeded" | "XMinioStorageFull" | "XMinioAdminBucketQuotaExceeded") => Kind::Full,
        (501, _) => Kind::Lasting,
        // A 404 without its own code comes from a proxy or another program.
        (404 | 408 | 409 | 429 | 500.., _) => Kind::Passing,
        // The body was cut short or changed on the way.
        (_, "SlowDown" | "RequestTimeout" | "IncompleteBody" | "BadDigest" | "XAmzContentChecksumMismatch") => {
            Kind::Passing
        }
        (_, "RequestTimeTooSkewed") => Kind::Lasting,
        (_, "ExpiredToken" | "InvalidToken") | (401 | 403, _) => Kind::Denied,
        _ => Kind::Lasting,
    };
    let is_region = matches!(word, "PermanentRedirect" | "TemporaryRedirect" | "AuthorizationHeaderMalformed");
    let trouble = if word == "RequestTimeTooSkewed" {
        Trouble::ClockSkew
    } else if is_region || matches!(status, 301 | 307) {
        Trouble::Region(region)
    } else {
        let said = |text: Option<&str>, otherwise: &str| text.map_or(otherwise.to_owned(), printable);
        Trouble::Refused { status, code: said(code.as_deref(), "no"), message: said(message, "nothing more") }
    };
    Failed { status: Some(status), code, trouble, kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(status: u16, code: &str) -> StoreError {
        refused(status, Some(code), None, None).explain(Op::Create, "packs/1", "bucket")
    }

    #[test]
    fn what_may_pass_is_told_from_what_lasts() {
        for (status, code) in [
            (503, "SlowDown"),
            (500, "InternalError"),
            (503, "ServiceUnavailable"),
            (429, "TooManyRequests"),
            (409, "ConditionalRequestConflict"),
            (400, "RequestTimeout"),
            (400, "BadDigest"),
        ] {
            assert!(explained(status, code).is_transient(), "{status} {code}");
        }
        for (status, code) in [(400, "InvalidRequest"), (501, "NotImplemented"), (405, "MethodNotAllowed")] {
            assert!(matches!(explained(status, code), StoreError::Io { .. }), "{status} {code}");
        }
    }

    #[test]
    fn refusals_are_of_the_kind_that_tells_what_to_do() {
        assert!(matches!(explained(403, "AccessDenied"), StoreError::Denied { .. }));
        assert!(matches!(explained(400, "ExpiredToken"), StoreError::Denied { .. }));
        assert!(matches!(explained(507, "XMinioStorageFull"), StoreError::Full { .. }));
        let StoreError::Gone { root } = explained(404, "NoSuchBucket") else { panic!("a missing bucket is gone") };
        assert_eq!(root, PathBuf::from("s3://bucket"));
    }

    #[test]
    fn a_wrong_clock_and_a_wrong_region_are_named() {
        assert_eq!(refused(403, Some("RequestTimeTooSkewed"), None, None).trouble, Trouble::ClockSkew);
        let elsewhere = refused(301, Some("PermanentRedirect"), None, Some("eu-west-1".into())).trouble;
        assert_eq!(elsewhere.to_string(), "the bucket is in another region: eu-west-1");
    }

    #[test]
    fn what_a_server_says_stays_one_short_line() {
        let failed = refused(400, Some("Odd"), Some(&"a\nb\u{1b}[2J".repeat(1000)), None);
        let text = failed.trouble.to_string();
        assert!(text.len() < 600 && !text.contains(['\n', '\u{1b}']), "{text:?}");
    }
}
