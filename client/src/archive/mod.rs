//! Archive: reads a tar archive from a stream: the POSIX (pax), GNU, ustar and older forms. Whatever the archive says, memory
//! stays bounded: names and records are limited before they are read, and content is handed on in pieces.

mod header;
mod records;
mod sparse;

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;

use copal_format::shown;
use copal_format::time::Time;

use header::{BLOCK, Header};
use records::{MUCH, Most, Records};

/// A tar archive that is being read. After [`Archive::next`] returned a member, reading gives its content without holes.
pub struct Archive<R> {
    input: R,
    /// Bytes read so far.
    at: u64,
    /// The content of the current member that is not read yet.
    content: VecDeque<Stretch>,
    /// Bytes after that content, up to the next header.
    padding: u64,
    /// Records that count for all members that follow.
    global: Records,
    /// The first byte after the end mark that is not zero.
    behind: Option<u64>,
    /// The name of the last member.
    last: Vec<u8>,
}

/// A stretch of content: zeros that the archive leaves out, and the bytes after them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Stretch {
    zeros: u64,
    bytes: u64,
}

/// A member of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name as it stands in the archive.
    pub name: Vec<u8>,
    /// Its kind.
    pub kind: MemberKind,
    /// The permission bits.
    pub mode: u16,
    /// The owner's number.
    pub uid: u64,
    /// The group's number.
    pub gid: u64,
    /// The owner's name; may be empty.
    pub user: Vec<u8>,
    /// The group's name; may be empty.
    pub group: Vec<u8>,
    /// When its content last changed.
    pub mtime: Time,
    /// Bytes of a file, with its holes.
    pub size: u64,
    /// The holes of a file, ascending.
    pub holes: Vec<Range<u64>>,
    /// Extended attributes, ascending by name.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether it has an ACL in a form that is not read.
    pub has_acl: bool,
    /// Why it cannot be kept. Its size is known all the same, so the next member can be found.
    pub fault: Option<&'static str>,
}

/// The kind of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say all")]
pub enum MemberKind {
    File,
    Directory,
    Fifo,
    /// Another name of the member of this name.
    HardLink(Vec<u8>),
    /// With its target.
    Symlink(Vec<u8>),
    /// With its major and minor number.
    CharDevice(u32, u32),
    /// With its major and minor number.
    BlockDevice(u32, u32),
}

/// Why an archive cannot be read further.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ArchiveError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The archive has no end mark, or ends within a member.
    #[error("the archive is cut off after {at} bytes")]
    CutOff {
        /// Its length.
        at: u64,
    },
    /// A block that should be a header is not one: its checksum is wrong.
    #[error("there is no header of a tar archive at byte {at}{}", behind(.after))]
    NoHeader {
        at: u64,
        /// The name of the member before it; empty at the start.
        after: Vec<u8>,
    },
    #[error("the archive is compressed: pipe it through \"{program} -d\" first")]
    Compressed {
        /// The program that uncompresses it.
        program: &'static str,
    },
    #[error("the member whose header ends at byte {at} cannot be read: {why}")]
    Malformed { at: u64, why: &'static str },
}

impl<R: Read> Archive<R> {
    /// Reads from the start of an archive.
    pub fn new(input: R) -> Self {
        let (content, global) = (VecDeque::new(), Records::default());
        Self { input, at: 0, content, padding: 0, global, behind: None, last: Vec::new() }
    }

    /// The position of the first byte after the end mark that is not zero; none if there is none, or before
    /// [`Archive::next`] has read to the end.
    pub fn behind(&self) -> Option<u64> {
        self.behind
    }

    /// The next member; none at the end mark. Skips what is left of the one before.
    #[expect(clippy::should_implement_trait, reason = "reading can fail, and then the archive has not ended")]
    pub fn next(&mut self) -> Result<Option<Member>, ArchiveError> {
        let content: u64 = self.content.drain(..).map(|stretch| stretch.bytes).sum();
        self.skip(content)?;
        self.skip(self.padding)?;
        self.padding = 0;
        let mut records = self.global.clone();
        let (mut long_name, mut long_link) = (None, None);
        let mut fault = Fault::default();
        loop {
            let Some(header) = self.header()? else {
                self.drain()?;
                return Ok(None);
            };
            match header.kind() {
                b'L' => long_name = Some(self.text(&header)?),
                b'K' => long_link = Some(self.text(&header)?),
                b'x' | b'X' => {
                    let bytes = self.body(&header, RECORDS_MAX)?;
                    match records.take(&bytes, OF_MEMBER) {
                        Ok(()) => {}
                        // The bad record may be followed by the size. Without the size, content would be read as
                        // headers.
                        Err(why) if why == MUCH || bytes.windows(5).any(|text| text == b"size=") => {
                            return Err(self.malformed(why));
                        }
                        Err(why) => fault.is(why),
                    }
                }
                b'g' => {
                    let bytes = self.body(&header, RECORDS_MAX)?;
                    self.global.replace(&bytes, OF_ARCHIVE).map_err(|why| self.malformed(why))?;
                    records = self.global.clone();
                }
                b'V' => {
                    let size = self.size_of(&header)?;
                    self.skip(size)?;
                    self.skip(padding_of(size))?;
                }
                b'M' => return Err(self.malformed("it goes on from another volume")),
                _ => return self.member(&header, records, (long_name, long_link), fault).map(Some),
            }
        }
    }

    fn member(
        &mut self,
        header: &Header,
        mut records: Records,
        (long_name, long_link): (Option<Vec<u8>>, Option<Vec<u8>>),
        mut fault: Fault,
    ) -> Result<Member, ArchiveError> {
        let stored = match records.number("size").map_err(|why| self.malformed(why))? {
            Some(size) => size,
            None => self.size_of(header)?,
        };
        let sparse_name = records.remove("GNU.sparse.name");
        let path = records.remove("path");
        let name = sparse_name.or(path).or(long_name).unwrap_or_else(|| header.name());
        let link = records.remove("linkpath").or(long_link).unwrap_or_else(|| header.link());
        let device = |which: usize| header.device(which).and_then(|number| u32::try_from(number).ok());
        let mut device = |which| fault.unless(device(which), "its device number is not a number");
        let kind = match header.kind() {
            b'1' => MemberKind::HardLink(link),
            b'2' => {
                if link.is_empty() || link.contains(&0) {
                    fault.is("its link target is empty or contains a zero byte");
                }
                MemberKind::Symlink(link)
            }
            b'3' => MemberKind::CharDevice(device(0), device(1)),
            b'4' => MemberKind::BlockDevice(device(0), device(1)),
            b'5' | b'D' => MemberKind::Directory,
            b'6' => MemberKind::Fifo,
            b'0' | 0 if name.ends_with(b"/") => MemberKind::Directory,
            _ => MemberKind::File,
        };
        // Only these have content, even if others have a size.
        let has_content = kind == MemberKind::File || matches!(header.kind(), b'0' | 0 | b'D');
        let stored = if has_content { stored } else { 0 };
        self.last.clone_from(&name);
        self.padding = padding_of(stored);
        self.content = [Stretch { zeros: 0, bytes: stored }].into();
        let (mut size, mut holes) = (if kind == MemberKind::File { stored } else { 0 }, Vec::new());
        if kind == MemberKind::File {
            match self.sparse_map(header, &mut records) {
                Ok(None) => {}
                Ok(Some(map)) => match map.place(self.content.iter().map(|stretch| stretch.bytes).sum()) {
                    Ok((stretches, found)) => (size, holes, self.content) = (map.size, found, stretches),
                    Err(why) => fault.is(why),
                },
                // In an old sparse file, further blocks of the map may come before the content.
                Err(ArchiveError::Malformed { why, .. }) if header.kind() != b'S' => fault.is(why),
                Err(error) => return Err(error),
            }
        }
        let mut number = |key: &str, field: Option<u64>| match records.number(key) {
            Ok(told) => fault.unless(told.or(field), BAD_NUMBER),
            Err(why) => fault.unless(None, why),
        };
        let (uid, gid) = (number("uid", header.uid()), number("gid", header.gid()));
        let mode = fault.unless(header.mode(), BAD_NUMBER);
        let mtime = match records.remove("mtime") {
            Some(text) => records::time(&text),
            None => header.mtime().map(|seconds| Time::from_unix(seconds as i64, 0)),
        };
        Ok(Member {
            name,
            kind,
            mode: mode as u16 & 0o7777,
            uid,
            gid,
            user: records.remove("uname").unwrap_or_else(|| header.user()),
            group: records.remove("gname").unwrap_or_else(|| header.group()),
            mtime: fault.unless(mtime, "its time is not a number"),
            size,
            holes,
            has_acl: records.has_acl(),
            xattrs: records.xattrs(),
            fault: fault.0,
        })
    }

    /// The next header; none at the end mark.
    fn header(&mut self) -> Result<Option<Header>, ArchiveError> {
        let (start, mut block) = (self.at, [0; BLOCK]);
        self.fill(&mut block)?;
        if block == [0; BLOCK] {
            return Ok(None);
        }
        if start == 0
            && let Some((_, program)) = COMPRESSED.iter().find(|(magic, _)| block.starts_with(magic))
        {
            return Err(ArchiveError::Compressed { program });
        }
        Header::new(block).map(Some).ok_or_else(|| ArchiveError::NoHeader { at: start, after: self.last.clone() })
    }

    fn size_of(&self, header: &Header) -> Result<u64, ArchiveError> {
        header.size().ok_or_else(|| self.malformed("its size is not a number"))
    }

    /// The body of a header that holds a name.
    fn text(&mut self, header: &Header) -> Result<Vec<u8>, ArchiveError> {
        let mut text = self.body(header, NAME_MAX)?;
        text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(text.len()));
        Ok(text)
    }

    /// The body of a header that describes the next one.
    fn body(&mut self, header: &Header, most: u64) -> Result<Vec<u8>, ArchiveError> {
        let size = self.size_of(header)?;
        if size > most {
            return Err(self.malformed("a name or record is far longer than any file system allows"));
        }
        let mut body = vec![0; size as usize];
        self.fill(&mut body)?;
        self.skip(padding_of(size))?;
        Ok(body)
    }

    fn malformed(&self, why: &'static str) -> ArchiveError {
        ArchiveError::Malformed { at: self.at, why }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        let read = self.input.read_exact(bytes);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveError::CutOff { at: self.at },
            _ => error.into(),
        })?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn skip(&mut self, bytes: u64) -> Result<(), ArchiveError> {
        let skipped = io::copy(&mut self.input.by_ref().take(bytes), &mut io::sink())?;
        self.at += skipped;
        if skipped == bytes { Ok(()) } else { Err(ArchiveError::CutOff { at: self.at }) }
    }

    /// Reads to the end of the stream, so that its writer does not fail.
    fn drain(&mut self) -> Result<(), ArchiveError> {
        let mut bytes = vec![0; 128 * BLOCK];
        loop {
            match self.input.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(length) => {
                    let found = bytes[..length].iter().position(|&byte| byte != 0);
                    self.behind = self.behind.or(found.map(|at| self.at + at as u64));
                    self.at += length as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The first thing that is wrong with a member.
#[derive(Default)]
struct Fault(Option<&'static str>);

impl Fault {
    fn is(&mut self, why: &'static str) {
        self.0.get_or_insert(why);
    }

    /// The value; without one, notes what is wrong.
    fn unless<T: Default>(&mut self, value: Option<T>, why: &'static str) -> T {
        value.unwrap_or_else(|| {
            self.is(why);
            T::default()
        })
    }
}

impl<R: Read> Read for Archive<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(stretch) = self.content.front_mut() {
            let part = |left: u64| usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
            if stretch.zeros > 0 {
                let length = part(stretch.zeros);
                into[..length].fill(0);
                stretch.zeros -= length as u64;
                return Ok(length);
            }
            if stretch.bytes > 0 {
                let length = part(stretch.bytes);
                let got = self.input.read(&mut into[..length])?;
                if got == 0 && length > 0 {
                    let cut_off = ArchiveError::CutOff { at: self.at };
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, cut_off.to_string()));
                }
                stretch.bytes -= got as u64;
                self.at += got as u64;
                return Ok(got);
            }
            self.content.pop_front();
        }
        Ok(0)
    }
}

fn behind(member: &[u8]) -> String {
    if member.is_empty() { String::new() } else { format!(", behind the member {}", shown::path(member)) }
}

fn padding_of(size: u64) -> u64 {
    (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64
}

/// How compressed streams begin, and what uncompresses them.
const COMPRESSED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\0", "xz"), (b"BZh", "bzip2")];
const BAD_NUMBER: &str = "its header has a field that is not a number";
/// Bytes of a name.
const NAME_MAX: u64 = 128 << 10;
/// Bytes of the records of one member, with all its attributes and a map of its holes.
const RECORDS_MAX: u64 = 16 << 20;
/// The most that the extended headers of one member may hold together.
const OF_MEMBER: Most = Most { records: 1 << 18, bytes: 16 << 20 };
/// The same for headers that count for all members. Little, because each member begins with a copy of them.
const OF_ARCHIVE: Most = Most { records: 1 << 10, bytes: 1 << 20 };

#[cfg(test)]
mod tests;
