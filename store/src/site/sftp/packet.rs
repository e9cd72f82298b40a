//! The packets of SFTP version 3 (draft-ietf-secsh-filexfer-02), as far as a store needs them. Decoding is total.

use bytes::{Buf, Bytes};

use super::trouble::Trouble;
use crate::error::printable;
use crate::walk::Entry;
use crate::{Stat, StoreTime};

/// What a request asks for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Request {
    Init = 1,
    Open = 3,
    Close = 4,
    Read = 5,
    Write = 6,
    Lstat = 7,
    Fstat = 8,
    OpenDirectory = 11,
    ReadDirectory = 12,
    Remove = 13,
    MakeDirectory = 14,
    Stat = 17,
    Extended = 200,
}

#[cfg(feature = "faults")]
impl Request {
    /// Whether it may change what is stored.
    pub(super) fn changes(self) -> bool {
        use Request::{Extended, MakeDirectory, Open, Remove, Write};
        matches!(self, Open | Write | Remove | MakeDirectory | Extended)
    }
}

/// A field of a request.
#[derive(Copy, Clone)]
pub(super) enum Field<'a> {
    Text(&'a [u8]),
    U32(u32),
    U64(u64),
    /// Attributes with nothing but a mode, as `open` and `mkdir` take them.
    Mode(u32),
}

/// The packet of a request, with its length before it.
pub(super) fn encode(request: Request, id: u32, fields: &[Field<'_>]) -> Vec<u8> {
    let mut packet = vec![0, 0, 0, 0, request as u8];
    packet.extend(id.to_be_bytes());
    for field in fields {
        match field {
            Field::Text(text) => {
                let length = u32::try_from(text.len()).expect("texts are names, handles and pieces");
                packet.extend(length.to_be_bytes());
                packet.extend_from_slice(text);
            }
            Field::U32(number) => packet.extend(number.to_be_bytes()),
            Field::U64(number) => packet.extend(number.to_be_bytes()),
            Field::Mode(mode) => packet.extend([PERMISSIONS.to_be_bytes(), mode.to_be_bytes()].concat()),
        }
    }
    let length = u32::try_from(packet.len() - 4).expect("a packet is little more than a piece");
    packet[..4].copy_from_slice(&length.to_be_bytes());
    packet
}

#[derive(Debug)]
pub(super) enum Answer {
    /// The names of the extensions that the server has.
    Version(Vec<Bytes>),
    Status {
        code: u32,
        message: String,
    },
    Handle(Bytes),
    Data(Bytes),
    Names(Vec<(String, Attributes)>),
    Attributes(Attributes),
    Extended(Bytes),
}

impl Answer {
    /// The id of the request, and the answer to it. The answer to `Init` has no id; 0 stands for it.
    pub(super) fn decode(packet: Bytes) -> Result<(u32, Answer), Trouble> {
        let mut fields = Fields(packet);
        let kind = fields.u8()?;
        if kind == 2 {
            if fields.u32()? != 3 {
                return Err(Trouble::Answer("it does not speak version 3 of SFTP"));
            }
            let mut extensions = Vec::new();
            while !fields.0.is_empty() {
                extensions.push(fields.text()?);
                fields.text()?;
            }
            return Ok((0, Answer::Version(extensions)));
        }
        let id = fields.u32()?;
        let answer = match kind {
            101 => Answer::Status {
                code: fields.u32()?,
                message: printable(&String::from_utf8_lossy(&fields.text().unwrap_or_default())),
            },
            102 => Answer::Handle(fields.text()?),
            103 => Answer::Data(fields.text()?),
            104 => {
                let mut names = Vec::new();
                for _ in 0..fields.u32()? {
                    let name = fields.text()?;
                    fields.text()?;
                    let attributes = fields.attributes()?;
                    // A name that is not UTF-8 is no part of a key.
                    names.extend(std::str::from_utf8(&name).ok().map(|name| (name.to_owned(), attributes)));
                }
                Answer::Names(names)
            }
            105 => Answer::Attributes(fields.attributes()?),
            201 => Answer::Extended(fields.0),
            _ => return Err(Trouble::Answer("a packet of an unknown kind")),
        };
        Ok((id, answer))
    }
}

/// What a server says about a file.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Attributes {
    size: Option<u64>,
    mode: Option<u32>,
    modified: Option<u32>,
}

impl Attributes {
    /// What it is. Times are whole seconds.
    pub(super) fn entry(&self) -> Result<Entry, Trouble> {
        let lacking = Trouble::Answer("a file without a length, a time or a kind");
        let (Some(length), Some(mode), Some(modified)) = (self.size, self.mode, self.modified) else {
            return Err(lacking);
        };
        let created = StoreTime(i64::from(modified) * 1_000_000_000);
        Ok(match mode & KIND {
            FILE => Entry::File(Stat { length, created, sha256: None }),
            DIRECTORY => Entry::Directory,
            _ => Entry::Other,
        })
    }
}

/// What is left of a packet.
pub(super) struct Fields(pub(super) Bytes);

impl Fields {
    fn u8(&mut self) -> Result<u8, Trouble> {
        self.0.try_get_u8().map_err(|_| SHORT)
    }

    fn u32(&mut self) -> Result<u32, Trouble> {
        self.0.try_get_u32().map_err(|_| SHORT)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Trouble> {
        self.0.try_get_u64().map_err(|_| SHORT)
    }

    fn text(&mut self) -> Result<Bytes, Trouble> {
        let length = usize::try_from(self.u32()?).map_err(|_| SHORT)?;
        if length > self.0.len() {
            return Err(SHORT);
        }
        Ok(self.0.split_to(length))
    }

    fn attributes(&mut self) -> Result<Attributes, Trouble> {
        let flags = self.u32()?;
        let mut attributes = Attributes::default();
        if flags & SIZE != 0 {
            attributes.size = Some(self.u64()?);
        }
        if flags & OWNERS != 0 {
            self.u64()?;
        }
        if flags & PERMISSIONS != 0 {
            attributes.mode = Some(self.u32()?);
        }
        if flags & TIMES != 0 {
            self.u32()?;
            attributes.modified = Some(self.u32()?);
        }
        if flags & EXTENSIONS != 0 {
            for _ in 0..self.u32()? {
                self.text()?;
                self.text()?;
            }
        }
        Ok(attributes)
    }
}

const SHORT: Trouble = Trouble::Answer("a packet that ends too early");

const SIZE: u32 = 1;
const OWNERS: u32 = 2;
const PERMISSIONS: u32 = 4;
const TIMES: u32 = 8;
const EXTENSIONS: u32 = 1 << 31;

const KIND: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_an_answer_or_an_error() {
        let names = [&[104, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1, b'a', 0, 0, 0, 0][..], &ATTRIBUTES].concat();
        for kind in 0..=255 {
            for end in 0..=names.len() {
                let mut packet = names[..end].to_vec();
                packet.first_mut().into_iter().for_each(|first| *first = kind);
                let _ = Answer::decode(packet.into());
            }
        }
        let Ok((7, Answer::Names(found))) = Answer::decode(names.into()) else { panic!("names") };
        assert_eq!(found[0].0, "a");
        let stat = Stat { length: 5, created: StoreTime(9_000_000_000), sha256: None };
        assert_eq!(found[0].1.entry().ok(), Some(Entry::File(stat)));
    }

    #[test]
    fn a_request_is_its_length_kind_id_and_fields() {
        let packet = encode(Request::MakeDirectory, 1, &[Field::Text(b"/a"), Field::Mode(0o700)]);
        let expected = [0, 0, 0, 19, 14, 0, 0, 0, 1, 0, 0, 0, 2, b'/', b'a', 0, 0, 0, 4, 0, 0, 1, 0xc0];
        assert_eq!(packet, expected);
    }

    /// A file of five bytes, with owners and times.
    const ATTRIBUTES: [u8; 32] =
        [0, 0, 0, 15, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0x81, 0x80, 0, 0, 0, 8, 0, 0, 0, 9];
}
