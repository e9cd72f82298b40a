//! Content: collects the pieces of one file, however many there are.

use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{BuildError, Content, Entry, EntryKind, LIST_AFTER, ListBuilder, Mode, Page, Piece};

/// Collects the pieces of a file. Many pieces go into list pages, so that memory does not grow with the file.
#[derive(Clone, Debug, Default)]
pub struct FileContent {
    pieces: Vec<Piece>,
    list: Option<ListBuilder>,
    bytes: u64,
}

/// Whether an entry is only the beginning of a file, from a checkpoint. Such an entry is not used for comparison.
pub fn is_unfinished(entry: &Entry) -> bool {
    entry.kind() == EntryKind::File && entry.mtime == UNFINISHED
}

/// The mtime that marks an unfinished entry. A file with exactly this mtime is read on every run.
const UNFINISHED: Time = Time(i64::MIN);

impl FileContent {
    /// Adds the next piece; returns the finished list pages.
    pub(super) fn push(
        &mut self,
        piece: Piece,
        new_list: impl FnOnce() -> ListBuilder,
    ) -> Result<Vec<Page>, BuildError> {
        self.bytes += u64::from(piece.length);
        let list = match &mut self.list {
            Some(list) => list,
            None if self.pieces.len() < LIST_AFTER => {
                self.pieces.push(piece);
                return Ok(Vec::new());
            }
            None => {
                let list = self.list.insert(new_list());
                self.pieces.drain(..).try_for_each(|piece| list.push(piece))?;
                list
            }
        };
        list.push(piece)?;
        Ok(list.take_pages())
    }

    /// The pieces so far as an unfinished entry, with the list pages that were still open; none before the first piece.
    pub(super) fn so_far(&self, path: &TreePath) -> Result<Option<(Entry, Vec<Page>)>, BuildError> {
        if self.bytes == 0 {
            return Ok(None);
        }
        let (content, pages) = self.clone().finish()?;
        let plain = Entry::new(path.clone(), Mode::new(EntryKind::File, 0o600));
        let entry = Entry { mtime: UNFINISHED, ctime: UNFINISHED, size: self.bytes, content, ..plain };
        Ok(Some((entry, pages)))
    }

    /// Ends the file; returns its content and the remaining list pages.
    pub(super) fn finish(self) -> Result<(Content, Vec<Page>), BuildError> {
        match self.list {
            None if self.pieces.is_empty() => Ok((Content::None, Vec::new())),
            None => Ok((Content::Chunks(self.pieces), Vec::new())),
            Some(list) => {
                let finished = list.finish()?;
                Ok((finished.content(), finished.pages))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::id::ChunkId;
    use copal_format::keys::domain::{DomainKey, DomainKeys};
    use copal_format::keys::secret::Secret;
    use copal_format::tree::TreeParams;

    fn list() -> ListBuilder {
        let params = TreeParams::new(4, 3, 64, 4096).unwrap();
        ListBuilder::new(params, DomainKeys::new(&DomainKey::from_secret(Secret::new([2; 32]))))
    }

    fn piece(number: u32) -> Piece {
        let mut id = [0; 24];
        id[..4].copy_from_slice(&number.to_le_bytes());
        Piece { id: ChunkId(id), length: 1 + number }
    }

    #[test]
    fn content_is_that_of_all_pieces_at_once() {
        for count in [0, 1, LIST_AFTER as u32, LIST_AFTER as u32 + 1, 1_000] {
            let (mut file, mut pages) = (FileContent::default(), Vec::new());
            (0..count).for_each(|number| pages.extend(file.push(piece(number), list).unwrap()));
            let (content, rest) = file.finish().unwrap();
            pages.extend(rest);
            let pieces: Vec<_> = (0..count).map(piece).collect();
            let expected = match pieces.len() {
                0 => (Content::None, Vec::new()),
                1..=LIST_AFTER => (Content::Chunks(pieces), Vec::new()),
                _ => {
                    let mut whole = list();
                    pieces.into_iter().for_each(|piece| whole.push(piece).unwrap());
                    let whole = whole.finish().unwrap();
                    (whole.content(), whole.pages)
                }
            };
            assert_eq!((content, pages), expected, "{count} pieces");
        }
    }

    #[test]
    fn pages_of_a_huge_file_are_given_before_its_end() {
        let mut file = FileContent::default();
        let given: usize = (0..1_000).map(|number| file.push(piece(number), list).unwrap().len()).sum();
        assert!(given > 100 && file.pieces.is_empty(), "{given}");
    }
}
