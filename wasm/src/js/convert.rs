//! Convert: converts values to and from JavaScript.

use core::fmt::Display;

use copal_format::id::{ChunkId, SnapshotId};
use copal_format::request::{Headers, Request};
use copal_format::time::Time;
use copal_format::tree::{Entry, EntryKind};
use js_sys::{Array, Float64Array, Object, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use zeroize::Zeroizing;

use crate::fault::{Code, Fault};
use crate::look::id_of;
use crate::view::Read;

pub(super) type Thrown<T> = Result<T, JsValue>;

impl From<Fault> for JsValue {
    fn from(fault: Fault) -> Self {
        let error = js_sys::Error::new(&fault.message);
        error.set_name("CopalError");
        set(&error, "code", fault.code.text());
        error.into()
    }
}

/// Makes a plain object.
macro_rules! object {
    ($($name:literal: $value:expr),* $(,)?) => {{
        let object = js_sys::Object::new();
        $($crate::js::convert::set(&object, $name, $value);)*
        object
    }};
}
pub(super) use object;

pub(super) fn set(object: &Object, name: &str, value: impl Into<JsValue>) {
    // A plain object accepts every property.
    let _ = Reflect::set(object, &JsValue::from_str(name), &value.into());
}

/// A property of an object; undefined if missing.
pub(super) fn field(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
}

pub(super) fn text_field(object: &JsValue, name: &str) -> Thrown<String> {
    field(object, name).as_string().ok_or_else(|| wrong(name, "a text"))
}

pub(super) fn number_field(object: &JsValue, name: &str) -> Thrown<f64> {
    field(object, name).as_f64().ok_or_else(|| wrong(name, "a number"))
}

pub(super) fn bytes_field(object: &JsValue, name: &str) -> Thrown<Vec<u8>> {
    let value = field(object, name);
    value.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec).ok_or_else(|| wrong(name, "an Uint8Array"))
}

pub(super) fn numbers_field(object: &JsValue, name: &str) -> Thrown<Vec<f64>> {
    let value = field(object, name);
    value.dyn_ref::<Float64Array>().map(Float64Array::to_vec).ok_or_else(|| wrong(name, "a Float64Array"))
}

pub(super) fn texts_field(object: &JsValue, name: &str) -> Thrown<Vec<String>> {
    let list = field(object, name).dyn_into::<Array>().map_err(|_| wrong(name, "an array"))?;
    list.iter().map(|text| text.as_string().ok_or_else(|| wrong(name, "an array of texts"))).collect()
}

/// Refuses NaN.
pub(super) fn number(value: f64, name: &str) -> Thrown<f64> {
    if value.is_nan() { Err(wrong(name, "a number")) } else { Ok(value) }
}

pub(super) fn wrong(name: &str, what: &str) -> JsValue {
    Fault::new(Code::Misuse, format!("{name} is not {what}")).into()
}

/// Exactly N bytes.
pub(super) fn exact<const N: usize>(bytes: &[u8], what: &str) -> Thrown<[u8; N]> {
    bytes.try_into().map_err(|_| wrong(what, &format!("{N} bytes")))
}

/// The 32 bytes of a key.
pub(super) fn key_of(bytes: &Uint8Array) -> Thrown<Zeroizing<[u8; 32]>> {
    if bytes.length() != 32 {
        return Err(wrong("the key", "32 bytes"));
    }
    let mut key = Zeroizing::new([0; 32]);
    bytes.copy_to(key.as_mut_slice());
    Ok(key)
}

/// A time from milliseconds; fractions are kept to the nanosecond.
pub(super) fn time(milliseconds: f64) -> Time {
    let whole = milliseconds.floor();
    let nanoseconds = ((milliseconds - whole) * 1e6).round() as i64;
    Time((whole as i64).saturating_mul(1_000_000).saturating_add(nanoseconds))
}

pub(super) fn milliseconds(time: Time) -> f64 {
    let (whole, rest) = (time.0.div_euclid(1_000_000), time.0.rem_euclid(1_000_000));
    whole as f64 + rest as f64 / 1e6
}

/// A number of bytes or things, as a JavaScript number.
pub(super) fn count(number: u64) -> f64 {
    number as f64
}

pub(super) fn hex(id: impl Display) -> String {
    id.to_string()
}

pub(super) fn list<T>(items: impl IntoIterator<Item = T>) -> Array
where
    T: Into<JsValue>,
{
    let array = Array::new();
    for item in items {
        array.push(&item.into());
    }
    array
}

pub(super) fn optional(value: Option<impl Into<JsValue>>) -> JsValue {
    value.map_or(JsValue::NULL, Into::into)
}

pub(super) fn ids(bytes: &[u8]) -> Thrown<Vec<ChunkId>> {
    let ids = bytes.chunks(ChunkId::LEN).map(ChunkId::from_slice).collect::<Option<Vec<_>>>();
    ids.ok_or_else(|| wrong("ids", "a multiple of 24 bytes"))
}

pub(super) fn read(read: &Read) -> Object {
    let (start, end) = read.range.as_ref().map_or((0, None), |range| (range.start, Some(count(range.end))));
    object! { "key": read.key.as_str(), "start": count(start), "end": optional(end) }
}

pub(super) fn reads<'a>(needs: impl IntoIterator<Item = &'a Read>) -> Array {
    list(needs.into_iter().map(read))
}

pub(super) fn read_of(value: &JsValue) -> Thrown<Read> {
    let start = number_field(value, "start")? as u64;
    let range = field(value, "end").as_f64().map(|end| start..end as u64);
    Ok(Read { key: text_field(value, "key")?, range })
}

/// A record or key slot, to be created under both names.
pub(super) fn record(keys: [String; 2], bytes: &[u8]) -> Object {
    object! { "keys": list(keys), "bytes": Uint8Array::from(bytes) }
}

pub(super) fn snapshots(ids: &[String]) -> Result<Vec<SnapshotId>, Fault> {
    ids.iter().map(|id| Ok(SnapshotId::from_hex(id)?)).collect()
}

/// Versions of a record, from an array of pairs.
pub(super) fn records(value: &Array) -> Thrown<Vec<(u64, Vec<u8>)>> {
    value
        .iter()
        .map(|pair| {
            let pair = pair.dyn_into::<Array>().map_err(|_| wrong("records", "an array of pairs"))?;
            let version = pair.get(0).as_f64().ok_or_else(|| wrong("a version", "a number"))?;
            let bytes = pair.get(1).dyn_into::<Uint8Array>().map_err(|_| wrong("a record", "an Uint8Array"))?;
            Ok((version as u64, bytes.to_vec()))
        })
        .collect()
}

/// The parts of a request to sign.
pub(super) struct ToSign {
    method: String,
    url: String,
    digest: [u8; 32],
    pub(super) created: u64,
    pub(super) expires: u64,
    pub(super) nonce: [u8; 16],
}

impl ToSign {
    pub(super) fn of(value: &JsValue) -> Thrown<Self> {
        Ok(Self {
            method: text_field(value, "method")?,
            url: text_field(value, "url")?,
            digest: exact(&bytes_field(value, "sha256")?, "sha256")?,
            created: number_field(value, "created")? as u64,
            expires: number_field(value, "expires")? as u64,
            nonce: exact(&bytes_field(value, "nonce")?, "nonce")?,
        })
    }

    pub(super) fn request(&self) -> Request<'_> {
        Request { method: &self.method, uri: &self.url, digest: self.digest }
    }
}

pub(super) fn headers(headers: Headers) -> Object {
    object! {
        "content-digest": headers.content_digest,
        "signature-input": headers.input,
        "signature": headers.signature,
    }
}

pub(super) fn entry(entry: &Entry) -> Object {
    let kind = match entry.kind() {
        EntryKind::File => "file",
        EntryKind::Directory => "directory",
        EntryKind::Symlink => "symlink",
        _ => "other",
    };
    let target = entry.extras.link_target.as_ref().map(|target| String::from_utf8_lossy(target).into_owned());
    object! {
        "id": id_of(&entry.path),
        "path": entry.path.to_string(),
        "name": String::from_utf8_lossy(entry.path.name()).into_owned(),
        "kind": kind,
        "size": count(entry.size),
        "modified": milliseconds(entry.mtime),
        "target": optional(target),
        "mode": entry.mode.permissions(),
        "uid": entry.owner.uid,
        "gid": entry.owner.gid,
    }
}
