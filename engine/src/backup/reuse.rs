//! Reuse: whether a new tree refers to the old content of an unchanged file, or the file is uploaded again.

use copal_format::id::ChunkId;
use copal_format::index::Status;
use copal_format::tree::{Content, Entry, Piece};

/// How many bytes a run may upload again because the repository wants them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RewriteBudget(pub u64);

impl RewriteBudget {
    /// Whether a tree may refer to an entry's content again. False if any of it is missing, flagged or lost, or if it
    /// is wanted and the budget suffices to upload it. `list` passes the pieces of a content list to its argument while
    /// that returns true. It returns false if the list cannot be read. It may pass no pieces where nothing is marked: a
    /// list that is present had all its pieces when it was stored.
    pub fn may_reuse(
        &mut self,
        old: &Entry,
        status: impl Fn(&ChunkId) -> Status,
        list: impl FnOnce(&mut dyn FnMut(&Piece) -> bool) -> bool,
    ) -> bool {
        let (mut worst, mut wanted) = (Status::Present, 0_u64);
        let mut is_there = |id: &ChunkId, length: u32| {
            let found = status(id);
            worst = worst.max(found);
            wanted += if found == Status::Wanted { u64::from(length) } else { 0 };
            worst <= Status::Wanted
        };
        let is_whole = match &old.content {
            Content::None | Content::Inline(_) => true,
            Content::Chunks(pieces) => pieces.iter().all(|piece| is_there(&piece.id, piece.length)),
            Content::List { root, .. } => is_there(root, 0) && list(&mut |piece| is_there(&piece.id, piece.length)),
        };
        if !is_whole || worst > Status::Wanted {
            return false;
        }
        if worst == Status::Present {
            return true;
        }
        let left = self.0.checked_sub(wanted);
        self.0 = left.unwrap_or(self.0);
        left.is_none()
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use copal_format::path::TreePath;

    use copal_format::tree::Mode;

    fn id(status: Status) -> ChunkId {
        ChunkId([status as u8; ChunkId::LEN])
    }

    fn piece(status: Status) -> Piece {
        Piece { id: id(status), length: 10 }
    }

    fn entry(content: Content) -> Entry {
        let plain = Entry::new(TreePath::new("f").unwrap(), Mode::from_bits(0o100_644).unwrap());
        Entry { size: 20, content, ..plain }
    }

    /// Whether the content is reused, and what is left of 25 bytes.
    fn reused(content: Content, listed: Option<[Status; 2]>) -> (bool, u64) {
        let mut budget = RewriteBudget(25);
        let status = |of: &ChunkId| ALL.into_iter().find(|status| id(*status) == *of).unwrap();
        let list = |take: &mut dyn FnMut(&Piece) -> bool| {
            listed.is_some_and(|all| all.into_iter().all(|status| take(&piece(status))))
        };
        (budget.may_reuse(&entry(content), status, list), budget.0)
    }

    #[test]
    fn content_in_the_entry_is_always_there() {
        assert_eq!(reused(Content::None, None), (true, 25));
        assert_eq!(reused(Content::Inline(b"abc".to_vec().into()), None), (true, 25));
    }

    #[test]
    fn wanted_content_is_uploaded_again_while_the_budget_lasts() {
        let chunks = |statuses: &[Status]| Content::Chunks(statuses.iter().copied().map(piece).collect());
        let (good, wanted) = (Status::Present, Status::Wanted);
        assert_eq!(reused(chunks(&[good, good]), None), (true, 25));
        assert_eq!(reused(chunks(&[good, wanted]), None), (false, 15));
        assert_eq!(reused(chunks(&[wanted; 3]), None), (true, 25), "that is too much");
        for worse in ALL.into_iter().filter(|status| *status > wanted) {
            assert_eq!(reused(chunks(&[wanted, worse]), None), (false, 25), "{worse:?}");
        }
    }

    #[test]
    fn of_a_list_every_piece_counts_and_one_that_cannot_be_read_is_of_no_use() {
        let list = |status| Content::List { root: id(status), height: 1 };
        let (good, wanted) = (Status::Present, Status::Wanted);
        assert_eq!(reused(list(good), Some([good, good])), (true, 25));
        assert_eq!(reused(list(good), Some([good, wanted])), (false, 15));
        assert_eq!(reused(list(wanted), Some([good, good])), (false, 25), "its root is made anew");
        assert_eq!(reused(list(good), None), (false, 25));
        for worse in ALL.into_iter().filter(|status| *status > wanted) {
            assert_eq!(reused(list(good), Some([wanted, worse])), (false, 25), "{worse:?}");
            assert_eq!(reused(list(worse), Some([good, good])), (false, 25), "{worse:?}");
        }
    }

    const ALL: [Status; 4] = [Status::Present, Status::Wanted, Status::Flagged, Status::Absent];
}
