//! Field: values that have the same form in all JSON results: ids, times and paths.

use copal_format::path::TreePath;
use copal_format::shown::digits;
use copal_format::time::Time;
use copal_format::tree::LostRange;
use jiff::tz::TimeZone;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::human;

/// A time, written in RFC 3339 with the offset of this machine's time zone.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Stamp(pub Time);

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&human::rfc3339_in(self.0, &TimeZone::system()))
    }
}

/// A path: field `path` in UTF-8, plus `path_bytes` in hexadecimal if UTF-8 loses something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathField(pub Vec<u8>);

impl PathField {
    /// A path in a snapshot, with a leading slash.
    pub fn of(path: &TreePath) -> Self {
        Self([b"/", path.as_bytes()].concat())
    }

    pub fn human(&self) -> String {
        human::path(&self.0)
    }
}

impl Serialize for PathField {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        bytes_fields(to, ["path", "path_bytes"], Some(&self.0))
    }
}

/// The entries of a range that cannot be read.
pub fn entries(range: &LostRange) -> String {
    let path = |path| PathField::of(path).human();
    match (&range.after, &range.through) {
        (None, None) => "all entries".into(),
        (Some(after), None) => format!("all entries after {}", path(after)),
        (None, Some(through)) => format!("all entries up to {}", path(through)),
        (Some(after), Some(through)) => format!("the entries after {} up to {}", path(after), path(through)),
    }
}

/// The target of a symbolic link: `target`, plus `target_bytes` if UTF-8 loses something; neither for other entries.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TargetField(pub Option<Vec<u8>>);

impl Serialize for TargetField {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        bytes_fields(to, ["target", "target_bytes"], self.0.as_deref())
    }
}

/// Paths: field `paths` in UTF-8, plus `paths_bytes` with all of them in hexadecimal if UTF-8 loses something.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PathsField(pub Vec<Vec<u8>>);

impl PathsField {
    /// Paths in a snapshot, with a leading slash.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a TreePath>) -> Self {
        Self(paths.into_iter().map(|path| PathField::of(path).0).collect())
    }

    /// The paths as text for people, one per line.
    pub fn human(&self) -> String {
        self.0.iter().map(|path| human::path(path)).collect::<Vec<_>>().join("\n")
    }
}

impl Serialize for PathsField {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let lossy = self.0.iter().any(|path| core::str::from_utf8(path).is_err());
        let mut fields = to.serialize_struct("paths", 1 + usize::from(lossy))?;
        fields
            .serialize_field("paths", &self.0.iter().map(|path| String::from_utf8_lossy(path)).collect::<Vec<_>>())?;
        if lossy {
            fields.serialize_field("paths_bytes", &self.0.iter().map(|path| digits(path)).collect::<Vec<_>>())?;
        }
        fields.end()
    }
}

fn bytes_fields<S: Serializer>(to: S, names: [&'static str; 2], bytes: Option<&[u8]>) -> Result<S::Ok, S::Error> {
    let lossy = bytes.filter(|bytes| core::str::from_utf8(bytes).is_err());
    let mut fields = to.serialize_struct("bytes", usize::from(bytes.is_some()) + usize::from(lossy.is_some()))?;
    if let Some(bytes) = bytes {
        fields.serialize_field(names[0], &String::from_utf8_lossy(bytes))?;
    }
    if let Some(bytes) = lossy {
        fields.serialize_field(names[1], &digits(bytes))?;
    }
    fields.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: impl Serialize) -> String {
        serde_json::to_string(&value).unwrap()
    }

    #[test]
    fn paths_that_are_no_utf8_also_give_their_bytes() {
        assert_eq!(json(PathField::of(&TreePath::new("a/b").unwrap())), r#"{"path":"/a/b"}"#);
        assert_eq!(json(PathField(b"/\xff".to_vec())), r#"{"path":"/�","path_bytes":"2fff"}"#);
        assert_eq!(json(PathsField(vec![b"/a".to_vec()])), r#"{"paths":["/a"]}"#);
        let odd = PathsField(vec![b"/a".to_vec(), b"/\xff".to_vec()]);
        assert_eq!(json(odd), r#"{"paths":["/a","/�"],"paths_bytes":["2f61","2fff"]}"#);
        assert_eq!(json(TargetField(None)), "{}");
        assert_eq!(json(TargetField(Some(b"../x".to_vec()))), r#"{"target":"../x"}"#);
    }
}
