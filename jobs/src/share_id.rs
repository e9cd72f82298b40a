//! Share id: names a share and its objects.

use copal_store::Key;

/// Names a share. Derived from the key in the link; the key cannot be derived from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareId(String);

impl ShareId {
    /// Reads an id: 32 hexadecimal digits in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 32 && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The object with the terms.
    pub fn terms(&self) -> Key {
        key(&format!("{TERMS}{}", self.0))
    }

    /// The object with the sealed list of files.
    pub fn list(&self) -> Key {
        key(&format!("{LIST}{}", self.0))
    }

    /// An object with sealed bytes of files. Numbers start at 1.
    pub fn data(&self, number: u64) -> Key {
        key(&format!("{DATA}{}/{number:020}", self.0))
    }

    /// The object that notes an opening. Numbers start at 1.
    pub fn taken(&self, number: u64) -> Key {
        key(&format!("{TAKEN}{}/{number:020}", self.0))
    }

    /// The share that an object belongs to, by its name.
    pub fn of(name: &str) -> Option<Self> {
        let rest = [TERMS, LIST, DATA, TAKEN].iter().find_map(|folder| name.strip_prefix(folder))?;
        let id = Self::parse(rest.split('/').next()?)?;
        let number = rest.split_once('/').map(|(_, number)| number.parse().ok());
        let names = match number {
            None => vec![id.terms(), id.list()],
            Some(number) => number.map_or(Vec::new(), |number| vec![id.data(number), id.taken(number)]),
        };
        names.iter().any(|own| own.as_str() == name).then_some(id)
    }

    /// Whether a client may upload an object of this name and length: sealed bytes or the list.
    pub fn is_content(name: &str, length: u64) -> bool {
        Self::of(name).is_some()
            && (1..=OBJECT_BYTES).contains(&length)
            && (name.starts_with(DATA) || name.starts_with(LIST))
    }
}

fn key(name: &str) -> Key {
    Key::new(name).expect("digits and folders are sound names")
}

/// The folder of all shares, and those within it.
pub const FOLDER: &str = "shares/";
/// Terms, by id.
pub const TERMS: &str = "shares/terms/";
/// Sealed bytes, by id and number.
pub const DATA: &str = "shares/data/";
/// Openings, by id and number.
pub const TAKEN: &str = "shares/taken/";
const LIST: &str = "shares/list/";

/// Bytes of an object with sealed bytes: 16 pieces of 1 MiB, each with a tag. The last object may be shorter.
pub const OBJECT_BYTES: u64 = 16 * ((1 << 20) + 16);
