//! Dump: writes content of a snapshot as a stream, and checks every chunk first.

mod archive;
mod zip;

use std::io::{self, Write};

use copal_format::path::TreePath;
use copal_format::tree::Extents;
use copal_format::tree::{Content, Entry, Piece};

use crate::reader::{ChunkReader, PageReader, ReadError, TreeError};

pub use archive::dump_tar;
pub use zip::dump_zip;

/// Why a dump ended early: the output is incomplete.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum DumpError {
    #[error("the content of /{path} cannot be read")]
    Content {
        path: TreePath,
        #[source]
        source: ReadError,
    },
    #[error("the content of /{path} is not as long as it should be")]
    Length { path: TreePath },
    /// An entry lies below something that is not a directory: a restore could be led elsewhere.
    #[error("/{path} is said to lie below what is no directory")]
    Misplaced { path: TreePath },
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

/// Writes a file's bytes, with holes as zeros.
pub fn dump_file(pages: &PageReader, entry: &Entry, out: &mut dyn Write) -> Result<(), DumpError> {
    write_file(pages, &mut ChunkReader::new(pages), entry, out)
}

/// Writes a file's bytes. Callers reuse `chunks`: the next file's chunks are mostly in the same blocks.
fn write_file(
    pages: &PageReader,
    chunks: &mut ChunkReader<'_>,
    entry: &Entry,
    out: &mut dyn Write,
) -> Result<(), DumpError> {
    let extents = Extents::of(entry);
    let mut stream = FileStream { entry, at: 0, out };
    match &entry.content {
        Content::Inline(content) => stream.write(extents.inline(content))?,
        _ => write_pieces(pages, chunks, &extents, &mut stream)?,
    }
    stream.zeros_up_to(entry.size)?;
    if stream.at == entry.size { Ok(()) } else { Err(DumpError::Length { path: entry.path.clone() }) }
}

fn write_pieces(
    pages: &PageReader,
    chunks: &mut ChunkReader<'_>,
    extents: &Extents,
    stream: &mut FileStream<'_>,
) -> Result<(), DumpError> {
    let path = &stream.entry.path;
    let mut write = |offset: u64, piece: Piece, stream: &mut FileStream<'_>| {
        let bytes = chunks.chunk(&piece.id);
        let bytes = bytes.map_err(|source| DumpError::Content { path: path.clone(), source })?;
        if bytes.len() != piece.length as usize {
            return Err(DumpError::Length { path: path.clone() });
        }
        Ok(stream.write(extents.parts(offset, bytes))?)
    };
    let mut written = Ok(());
    let listed = pages.pieces(stream.entry, |offset, piece| {
        if written.is_ok() {
            written = write(offset, piece, stream);
        }
    });
    match listed {
        // The list of its chunks belongs to the file, so this is damage to content, not to the tree.
        Err(TreeError::Read(source)) => written.and(Err(DumpError::Content { path: path.clone(), source })),
        Err(error) => written.and(Err(error.into())),
        Ok(()) => written,
    }
}

/// A file that is written from start to end.
struct FileStream<'a> {
    entry: &'a Entry,
    at: u64,
    out: &'a mut dyn Write,
}

impl FileStream<'_> {
    /// Writes parts of the file, and the holes before each.
    fn write<'b>(&mut self, parts: impl Iterator<Item = (u64, &'b [u8])>) -> io::Result<()> {
        for (offset, bytes) in parts {
            self.zeros_up_to(offset)?;
            self.out.write_all(bytes)?;
            self.at = offset + bytes.len() as u64;
        }
        Ok(())
    }

    fn zeros_up_to(&mut self, end: u64) -> io::Result<()> {
        while self.at < end {
            let length = (end - self.at).min(ZEROS.len() as u64);
            self.out.write_all(&ZEROS[..length as usize])?;
            self.at += length;
        }
        Ok(())
    }
}

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
