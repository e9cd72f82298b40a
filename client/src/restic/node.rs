//! Node: an entry as restic describes it in JSON.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Content, Entry, EntryKind, Extras, Mode, Owner, Piece};
use jiff::fmt::temporal::Pieces;
use serde::Deserialize;

use super::counted::Counted;
use super::index::{BlobId, Index};
use crate::system;

/// A node of a tree.
#[derive(Deserialize)]
pub(super) struct Node<'a> {
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default)]
    mode: u32,
    #[serde(borrow, default)]
    mtime: Cow<'a, str>,
    #[serde(default)]
    uid: u32,
    #[serde(default)]
    gid: u32,
    #[serde(borrow, default)]
    user: Cow<'a, str>,
    #[serde(borrow, default)]
    group: Cow<'a, str>,
    #[serde(default)]
    inode: u64,
    #[serde(default)]
    device_id: u64,
    #[serde(default)]
    links: u64,
    #[serde(borrow, default)]
    linktarget: Cow<'a, str>,
    #[serde(borrow, default)]
    linktarget_raw: Option<Cow<'a, str>>,
    #[serde(default)]
    device: u64,
    #[serde(default)]
    content: Option<Vec<BlobId>>,
    #[serde(default)]
    pub(super) subtree: Option<BlobId>,
    #[serde(borrow, default)]
    extended_attributes: Option<Counted<Attribute<'a>, ATTRIBUTES_MAX>>,
}

/// Extended attributes, ascending by name.
type Xattrs = Vec<(Vec<u8>, Vec<u8>)>;

#[derive(Deserialize)]
struct Attribute<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    value: Option<Cow<'a, str>>,
}

impl Node<'_> {
    /// Its name as the file system has it: restic escapes bytes as Go does.
    pub(super) fn real_name(&self) -> Result<Vec<u8>, &'static str> {
        unquoted(&self.name).ok_or("its name in the repository is not escaped as restic does it")
    }

    /// Which names share an inode: none if this is the only name of the entry.
    pub(super) fn inode(&self) -> Option<(u64, u64)> {
        (self.links > 1 && self.kind != "dir").then_some((self.device_id, self.inode))
    }

    /// The kind of entry that it becomes; none if it is of a kind that no restore brings back.
    pub(super) fn entry_kind(&self) -> Option<EntryKind> {
        Some(match &*self.kind {
            "file" => EntryKind::File,
            "dir" => EntryKind::Directory,
            "symlink" => EntryKind::Symlink,
            "dev" => EntryKind::BlockDevice,
            "chardev" => EntryKind::CharDevice,
            "fifo" => EntryKind::Fifo,
            _ => return None,
        })
    }

    /// The entry, whose pieces are the blobs of its content. A blob that the index does not know has no length, and cannot be
    /// read later.
    pub(super) fn entry(
        &self,
        path: TreePath,
        kind: EntryKind,
        owner: &mut Arc<Owner>,
        index: &Index,
    ) -> Result<Entry, &'static str> {
        let mtime = time(&self.mtime).ok_or("its time cannot be read")?;
        let found = Owner {
            uid: self.uid,
            gid: self.gid,
            user: self.user.as_bytes().to_vec(),
            group: self.group.as_bytes().to_vec(),
        };
        if **owner != found {
            *owner = Arc::new(found);
        }
        let mut extras = Extras { xattrs: self.xattrs()?, ..Extras::default() };
        match kind {
            EntryKind::Symlink => extras.link_target = Some(self.target()?),
            EntryKind::BlockDevice | EntryKind::CharDevice => {
                extras.device = Some(system::device_numbers(self.device));
            }
            _ => {}
        }
        let blobs = self.content.as_deref().filter(|_| kind == EntryKind::File).unwrap_or_default();
        let piece = |blob: &BlobId| Piece { id: blob.chunk(), length: index.length(blob.chunk()).unwrap_or(0) };
        let pieces: Vec<Piece> = blobs.iter().map(piece).collect();
        let size = pieces.iter().map(|piece| u64::from(piece.length)).sum();
        let content = if pieces.is_empty() { Content::None } else { Content::Chunks(pieces) };
        let mode = Mode::new(kind, self.permissions());
        let owner = owner.clone();
        // Without ctime and inode number, no later backup skips the file as unchanged.
        Ok(Entry { path, mode, owner, mtime, ctime: mtime, birth: None, inode: 0, size, content, extras })
    }

    /// Go keeps these three bits apart from the permissions.
    fn permissions(&self) -> u16 {
        let special = [(23, 0o4000), (22, 0o2000), (20, 0o1000)];
        let special = special.iter().filter(|(bit, _)| self.mode >> bit & 1 == 1).map(|(_, mode)| mode).sum::<u16>();
        (self.mode & 0o777) as u16 | special
    }

    fn target(&self) -> Result<Vec<u8>, &'static str> {
        let raw = self.linktarget_raw.as_ref().map(|raw| STANDARD.decode(&**raw));
        let target =
            raw.unwrap_or_else(|| Ok(self.linktarget.as_bytes().to_vec())).map_err(|_| "its target is no Base64")?;
        let is_path = !target.is_empty() && !target.contains(&0);
        is_path.then_some(target).ok_or("its target is empty or has a zero byte")
    }

    fn xattrs(&self) -> Result<Xattrs, &'static str> {
        let attributes = self.extended_attributes.iter().flat_map(|attributes| &attributes.0);
        let value = |attribute: &Attribute<'_>| STANDARD.decode(attribute.value.as_deref().unwrap_or_default());
        let pair = |attribute: &Attribute<'_>| Ok((attribute.name.as_bytes().to_vec(), value(attribute)?));
        let pairs: Result<Vec<_>, base64::DecodeError> = attributes.map(pair).collect();
        let mut pairs = pairs.map_err(|_| "an attribute of it is no Base64")?;
        if pairs.iter().any(|(name, _)| name.contains(&0)) {
            return Err("the name of an attribute of it has a zero byte");
        }
        pairs.sort();
        Ok(pairs)
    }
}

/// The time of a text in RFC 3339; a time out of Copal's range becomes the nearest time within it.
pub(super) fn time(text: &str) -> Option<Time> {
    let pieces = Pieces::parse(text).ok()?;
    // restic writes the year 9999 for every later year. jiff's timestamps end a day before that year does.
    if pieces.date().year() == 9999 && pieces.to_numeric_offset().is_some() && pieces.time().is_some() {
        return Some(Time(i64::MAX));
    }
    let stamp: jiff::Timestamp = text.parse().ok()?;
    let nanoseconds = stamp.as_nanosecond().clamp(i64::MIN.into(), i64::MAX.into());
    Some(Time(nanoseconds as i64))
}

/// What Go's `strconv.Unquote` makes of a text between quotes.
fn unquoted(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let mut letters = rest[at + 1..].chars();
        let letter = letters.next()?;
        rest = letters.as_str();
        let mut number = |digits: usize, radix: u32| {
            let (number, after) = rest.split_at_checked(digits)?;
            rest = after;
            number.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
            u32::from_str_radix(number, radix).ok()
        };
        match letter {
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'f' => bytes.push(12),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(11),
            '\\' | '"' | '\'' => bytes.push(letter as u8),
            'x' => bytes.push(number(2, 16)? as u8),
            'u' | 'U' => {
                let letter = char::from_u32(number(if letter == 'u' { 4 } else { 8 }, 16)?)?;
                bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            '0'..='7' => {
                let low = number(2, 8)?;
                bytes.push(u8::try_from(letter.to_digit(8)? * 64 + low).ok()?);
            }
            _ => return None,
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

/// Attributes of one node. Linux lists at most 64 KiB of names.
const ATTRIBUTES_MAX: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unquoted_as_go_does_it() {
        for (text, name) in [
            ("plain", &b"plain"[..]),
            (r"a\nb\t\\\x22", b"a\nb\t\\\""),
            (r#"\"\a\v\x00\xff\377"#, b"\"\x07\x0b\0\xff\xff"),
            (r"\u00e9\U0001f600", "\u{e9}\u{1f600}".as_bytes()),
            ("\u{e9}", "\u{e9}".as_bytes()),
        ] {
            assert_eq!(unquoted(text).as_deref(), Some(name), "{text}");
        }
        for text in ["\\", r"\x", r"\xg0", r"\x+1", r"\uD800", r"\q", r"\777", r"\x4\u{e9}", "\\x\u{e9}"] {
            assert_eq!(unquoted(text), None, "{text}");
        }
    }

    #[test]
    fn times_of_any_zone_and_year_are_read() {
        assert_eq!(time("2015-01-02T03:04:05.000000006+02:00"), Some(Time(1_420_160_645_000_000_006)));
        assert_eq!(time("1969-12-31T23:59:58.5Z"), Some(Time(-1_500_000_000)));
        assert_eq!(time("0001-01-01T00:00:00Z"), Some(Time(i64::MIN)));
        for text in ["9999-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59-12:00"] {
            assert_eq!(time(text), Some(Time(i64::MAX)), "{text}");
        }
        assert_eq!(time("9999-12-31"), None);
        assert_eq!(time("yesterday"), None);
    }

    #[test]
    fn a_node_becomes_the_entry_that_restic_would_restore() {
        let text = r#"{"name":"x","type":"chardev","mode":69206516,"mtime":"2020-01-01T00:00:00Z","uid":5,"gid":6,
            "user":"u","group":"g","device":1283,"links":1,"extended_attributes":[{"name":"user.b","value":"AAE="},
            {"name":"user.a","value":null}],"content":null}"#;
        let node: Node<'_> = serde_json::from_str(text).unwrap();
        let path = TreePath::new("x").unwrap();
        let kind = node.entry_kind().unwrap();
        let entry = node.entry(path, kind, &mut Arc::default(), &Index::default()).unwrap();
        assert_eq!(entry.mode.permissions(), 0o764);
        assert_eq!(entry.extras.device, Some((5, 3)));
        assert_eq!(entry.extras.xattrs, [(b"user.a".to_vec(), vec![]), (b"user.b".to_vec(), vec![0, 1])]);
        assert_eq!((entry.owner.uid, &entry.owner.group[..]), (5, &b"g"[..]));
        entry.check().unwrap();
    }
}
