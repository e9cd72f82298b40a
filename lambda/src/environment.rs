//! Environment: the variables that configure a function.

use std::fmt;
use std::path::PathBuf;

use copal_format::id::OwnerFingerprint;
use copal_store::s3::Retention;
use subtle::ConstantTimeEq;

/// The bucket that holds the repository. Required.
pub const BUCKET: &str = "COPAL_BUCKET";
/// The folder of the bucket that holds the repository; the whole bucket without it.
pub const PREFIX: &str = "COPAL_PREFIX";
/// The fingerprint of the repository's owner, in hexadecimal. Required: it is what a function trusts.
pub const OWNER_FINGERPRINT: &str = "COPAL_OWNER_FINGERPRINT";
/// The namespace of the metrics in CloudWatch.
pub const METRICS_NAMESPACE: &str = "COPAL_METRICS_NAMESPACE";
/// What is logged, as a `tracing` filter; `info` by default.
pub const LOG: &str = "COPAL_LOG";
/// The storage class of packs that prune and gateway clients write; the bucket's default without it.
pub const STORAGE_CLASS: &str = "COPAL_STORAGE_CLASS";
/// The KMS key with which S3 encrypts new objects; the bucket's default without it.
pub const KMS_KEY: &str = "COPAL_KMS_KEY";
/// The object lock of packs that prune writes, and of packs and manifests of gateway clients: `GOVERNANCE:30` or
/// `COMPLIANCE:30` (days). No lock without it. The bucket must have Object Lock.
pub const OBJECT_LOCK: &str = "COPAL_OBJECT_LOCK";
/// A check reads one of this many shares of the packs, if no policy sets the number.
pub const CHECK_PARTS: &str = "COPAL_CHECK_PARTS";
/// Bytes that one prune may copy into new packs; no limit without it.
pub const REPACK_MOST: &str = "COPAL_REPACK_MOST";
/// Gateway: its addresses as clients know them, such as `https://backup.example`, with commas between them and the one that
/// it tells first; by default that of each request.
pub const ORIGIN: &str = "COPAL_ORIGIN";
/// Gateway: the web origin whose pages may use it; none without it.
pub const CORS: &str = "COPAL_CORS";
/// Gateway: bytes of packs that a domain may hold; no limit without it.
pub const QUOTA: &str = "COPAL_QUOTA";
/// Gateway: bytes of packs that a domain may add within a day; no limit without it.
pub const DAILY_QUOTA: &str = "COPAL_DAILY_QUOTA";
/// Gateway: `true` if anybody may read key slots. If so, anybody can try to guess passphrases.
pub const OPEN_SLOTS: &str = "COPAL_OPEN_SLOTS";
/// Gateway: what its proxy says in each request, and nobody else knows; without it the gateway answers everybody.
pub const VIA: &str = "COPAL_VIA";

/// The usual variable for the directory of temporary files, here of local index copies; `/tmp` without it.
const TEMPORARY: &str = "TMPDIR";

/// Copal's variables. Besides them the functions read `TMPDIR` and what AWS sets: region, credentials, the Runtime API's
/// address.
pub const NAMES: &[&str] = &[
    BUCKET,
    PREFIX,
    OWNER_FINGERPRINT,
    METRICS_NAMESPACE,
    LOG,
    STORAGE_CLASS,
    KMS_KEY,
    OBJECT_LOCK,
    CHECK_PARTS,
    REPACK_MOST,
    ORIGIN,
    CORS,
    QUOTA,
    DAILY_QUOTA,
    OPEN_SLOTS,
    VIA,
];

/// A function's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The bucket.
    pub bucket: String,
    /// The folder, without a slash at its end; empty for the whole bucket.
    pub prefix: String,
    /// The owner of the repository.
    pub owner: OwnerFingerprint,
    /// The namespace of the metrics.
    pub namespace: String,
    /// The storage class of packs.
    pub storage_class: Option<String>,
    /// The KMS key with which S3 encrypts new objects.
    pub kms_key: Option<String>,
    /// The object lock of packs and manifests.
    pub object_lock: Option<Retention>,
    /// A check reads one of this many shares of the packs, if no policy sets the number.
    pub check_parts: u32,
    /// Bytes that one prune may copy.
    pub repack_most: u64,
    /// The addresses by which clients know the gateway.
    pub origins: Vec<String>,
    /// The web origin whose pages may use the gateway.
    pub cors: Option<String>,
    /// Bytes of packs that a domain may hold.
    pub quota: Option<u64>,
    /// Bytes of packs that a domain may add within a day.
    pub daily_quota: Option<u64>,
    /// Whether anybody may read key slots.
    pub open_slots: bool,
    /// What requests have to carry.
    pub via: Option<Via>,
    /// Where prune and check keep local index copies while they run.
    pub temporary: PathBuf,
}

/// What a proxy says in each request, so that the gateway knows that it comes through it.
#[derive(Clone, PartialEq, Eq)]
pub struct Via(String);

impl Via {
    /// Whether a request says the same.
    pub fn is(&self, said: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(said).into()
    }
}

impl fmt::Debug for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Via(..)")
    }
}

/// A variable that is missing or cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadEnvironment {
    /// The variable is not set, or empty.
    #[error("the variable {0} is not set")]
    Missing(&'static str),
    /// The variable has an invalid value.
    #[error("the variable {name} is {value:?}, which is not {wanted}")]
    Value { name: &'static str, value: String, wanted: &'static str },
}

impl Environment {
    /// Reads the variables of this process.
    pub fn of_process() -> Result<Self, BadEnvironment> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Reads the variables. An empty variable counts as not set.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, BadEnvironment> {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let required = |name| set(name).ok_or(BadEnvironment::Missing(name));
        let prefix = set(PREFIX).unwrap_or_default();
        let fingerprint = required(OWNER_FINGERPRINT)?;
        let owner = OwnerFingerprint::from_hex(&fingerprint);
        let owner = owner.map_err(|_| bad(OWNER_FINGERPRINT, fingerprint, "64 hexadecimal digits"))?;
        Ok(Self {
            bucket: required(BUCKET)?,
            prefix: prefix.trim_matches('/').to_owned(),
            owner,
            namespace: set(METRICS_NAMESPACE).unwrap_or_else(|| "Copal".to_owned()),
            storage_class: set(STORAGE_CLASS),
            kms_key: set(KMS_KEY),
            object_lock: set(OBJECT_LOCK).map(locked).transpose()?,
            check_parts: number(CHECK_PARTS, set(CHECK_PARTS), PARTS)?,
            repack_most: number(REPACK_MOST, set(REPACK_MOST), u64::MAX)?,
            origins: set(ORIGIN).map(|all| all.split(',').map(str::to_owned).collect()).unwrap_or_default(),
            cors: set(CORS),
            quota: bound(QUOTA, set(QUOTA))?,
            daily_quota: bound(DAILY_QUOTA, set(DAILY_QUOTA))?,
            open_slots: match set(OPEN_SLOTS).as_deref() {
                None | Some("false") => false,
                Some("true") => true,
                Some(value) => return Err(bad(OPEN_SLOTS, value.to_owned(), "true or false")),
            },
            via: set(VIA).map(Via),
            temporary: set(TEMPORARY).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from),
        })
    }

    /// Bucket and folder: a dimension of the metrics.
    pub fn repository(&self) -> String {
        if self.prefix.is_empty() { self.bucket.clone() } else { format!("{}/{}", self.bucket, self.prefix) }
    }
}

/// A number above zero; the default if the variable is not set.
fn number<N: std::str::FromStr + Default + PartialEq>(
    name: &'static str,
    value: Option<String>,
    default: N,
) -> Result<N, BadEnvironment> {
    let Some(value) = value else { return Ok(default) };
    match value.parse() {
        Ok(number) if number != N::default() => Ok(number),
        _ => Err(bad(name, value, "a number above zero")),
    }
}

/// A number above zero; none if the variable is not set.
fn bound(name: &'static str, value: Option<String>) -> Result<Option<u64>, BadEnvironment> {
    value.map(|value| number(name, Some(value), 0)).transpose()
}

fn locked(value: String) -> Result<Retention, BadEnvironment> {
    value.parse().map_err(|_| bad(OBJECT_LOCK, value, "a mode and days, like GOVERNANCE:30"))
}

fn bad(name: &'static str, value: String, wanted: &'static str) -> BadEnvironment {
    BadEnvironment::Value { name, value, wanted }
}

/// With a check a day, every pack is read within a month.
const PARTS: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment, BadEnvironment> {
        Environment::read(|name| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned()))
    }

    const FINGERPRINT: &str = "ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45";

    #[test]
    fn bucket_and_owner_are_enough() {
        let environment = read(&[(BUCKET, "b"), (OWNER_FINGERPRINT, FINGERPRINT)]).unwrap();
        assert_eq!((environment.bucket.as_str(), environment.prefix.as_str()), ("b", ""));
        assert_eq!((environment.namespace.as_str(), environment.check_parts), ("Copal", 30));
    }

    #[test]
    fn without_bucket_or_owner_nothing_starts() {
        assert_eq!(read(&[(OWNER_FINGERPRINT, FINGERPRINT)]), Err(BadEnvironment::Missing(BUCKET)));
        assert_eq!(read(&[(BUCKET, "b"), (OWNER_FINGERPRINT, "")]), Err(BadEnvironment::Missing(OWNER_FINGERPRINT)));
    }

    #[test]
    fn a_prefix_has_no_slash_at_its_ends() {
        let with = |prefix| read(&[(BUCKET, "b"), (OWNER_FINGERPRINT, FINGERPRINT), (PREFIX, prefix)]).unwrap().prefix;
        assert_eq!([with("a/b"), with("/a/b/"), with("/")], ["a/b", "a/b", ""]);
    }

    #[test]
    fn the_gateway_may_have_several_addresses() {
        let with = |text| read(&[(BUCKET, "b"), (OWNER_FINGERPRINT, FINGERPRINT), (ORIGIN, text)]).unwrap().origins;
        assert_eq!(with("https://one.example,https://two.example"), ["https://one.example", "https://two.example"]);
        assert!(with("").is_empty());
    }

    #[test]
    fn what_the_proxy_says_is_compared_and_never_shown() {
        let with = |text| read(&[(BUCKET, "b"), (OWNER_FINGERPRINT, FINGERPRINT), (VIA, text)]).unwrap();
        let via = with("a secret").via.expect("it is set");
        assert!(via.is(b"a secret"));
        for other in [&b""[..], b"a secre", b"a secret ", b"A secret"] {
            assert!(!via.is(other), "{other:?}");
        }
        assert!(!format!("{:?}", with("a secret")).contains("secret"));
        assert_eq!(with("").via, None);
    }

    #[test]
    fn a_value_that_cannot_be_used_is_named() {
        let error = read(&[(BUCKET, "b"), (OWNER_FINGERPRINT, "me")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the variable COPAL_OWNER_FINGERPRINT is \"me\", which is not 64 hexadecimal digits"
        );
        assert!(read(&[(BUCKET, "b"), (OWNER_FINGERPRINT, FINGERPRINT), (CHECK_PARTS, "0")]).is_err());
        assert!(read(&[(BUCKET, "b"), (OWNER_FINGERPRINT, FINGERPRINT), (OBJECT_LOCK, "30")]).is_err());
    }
}
