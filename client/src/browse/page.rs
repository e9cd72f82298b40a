//! Page: a decoded page of a tree or of a content list, with the sums that find an item by its number or offset.

use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::tree::{Child, Content, Entry, ListChild, PageContent, VerifiedPage};

/// A page whose id was verified.
pub(super) struct TreePage {
    pub(super) height: u8,
    pub(super) content: PageContent,
    /// For each item, the entries or bytes of all items up to it. Empty for a page of entries.
    sums: Vec<u64>,
    /// The total size of the files below.
    bytes: u64,
}

/// A page that its parent refers to, and what the parent says of it.
pub(super) enum Claim<'a> {
    /// The root of a tree.
    Root,
    /// Entries that follow a path.
    Entries { child: &'a Child, after: Option<&'a TreePath>, above: u8 },
    /// A content list of exactly this height.
    List { child: ListChild, height: u8 },
}

impl TreePage {
    /// Prepares a page; `None` if its lengths exceed 64 bits in sum, or its entries [`ENTRIES`].
    pub(super) fn of(page: VerifiedPage) -> Option<Self> {
        let height = page.height();
        let content = page.into_content();
        let sums = sums(&content)?;
        let bytes = match &content {
            PageContent::Entries(entries) => entries.iter().fold(0, |sum: u64, entry| sum.saturating_add(entry.size)),
            PageContent::Directory(children) => {
                children.iter().fold(0, |sum: u64, child| sum.saturating_add(child.bytes))
            }
            PageContent::List(_) | PageContent::Lists(_) => sums.last().copied().unwrap_or(0),
        };
        Some(Self { height, content, sums, bytes })
    }

    /// Whether the page is what its parent says. Only a faulty or hostile writer makes others.
    pub(super) fn fits(&self, claim: &Claim<'_>) -> bool {
        match claim {
            // A tree without entries is one page without entries.
            Claim::Root => matches!(self.content, PageContent::Entries(_)) || self.ends().is_some(),
            Claim::Entries { child, after, above } => {
                let Some((first, last, entries)) = self.ends() else { return false };
                self.height < *above
                    && (last, entries, self.bytes) == (&child.last_path, child.entries, child.bytes)
                    && after.is_none_or(|after| first > after)
            }
            Claim::List { child, height } => {
                let is_list = matches!(self.content, PageContent::List(_) | PageContent::Lists(_));
                is_list && self.height == *height && self.bytes == child.bytes
            }
        }
    }

    /// The first and the last path of a page of entries, and how many entries lie below it.
    fn ends(&self) -> Option<(&TreePath, &TreePath, u64)> {
        match &self.content {
            PageContent::Entries(entries) => {
                Some((&entries.first()?.path, &entries.last()?.path, entries.len() as u64))
            }
            PageContent::Directory(children) => {
                Some((&children.first()?.last_path, &children.last()?.last_path, *self.sums.last()?))
            }
            PageContent::List(_) | PageContent::Lists(_) => None,
        }
    }

    /// The item that has the entry of this number, or the byte at this offset, counted from the page's first.
    pub(super) fn item_with(&self, number: u64) -> usize {
        self.sums.partition_point(|&sum| sum <= number)
    }

    /// The entries or bytes before an item.
    pub(super) fn before(&self, item: usize) -> u64 {
        item.checked_sub(1).and_then(|item| self.sums.get(item)).copied().unwrap_or(0)
    }

    /// About how many bytes of memory it takes.
    pub(super) fn weight(&self) -> u64 {
        let items = match &self.content {
            PageContent::Entries(entries) => entries.iter().map(weight).sum(),
            PageContent::Directory(children) => {
                children.iter().map(|child| size_of::<Child>() + child.last_path.as_bytes().len()).sum()
            }
            PageContent::List(pieces) => pieces.len() * size_of::<(ChunkId, u32)>(),
            PageContent::Lists(children) => children.len() * size_of::<ListChild>(),
        };
        (items + 8 * self.sums.len() + size_of::<Self>()) as u64
    }
}

fn sums(content: &PageContent) -> Option<Vec<u64>> {
    let mut total = 0u64;
    let mut sum = |length: u64| {
        total = total.checked_add(length)?;
        Some(total)
    };
    match content {
        PageContent::Entries(_) => Some(Vec::new()),
        PageContent::Directory(children) => {
            children.iter().map(|child| sum(child.entries).filter(|sum| *sum <= ENTRIES)).collect()
        }
        PageContent::List(pieces) => pieces.iter().map(|piece| sum(piece.length.into())).collect(),
        PageContent::Lists(children) => children.iter().map(|child| sum(child.bytes)).collect(),
    }
}

fn weight(entry: &Entry) -> usize {
    let content = match &entry.content {
        // Content in the page is as long as the file without its holes.
        Content::Inline(_) => usize::try_from(entry.content_bytes()).unwrap_or(0),
        Content::Chunks(pieces) => pieces.len() * size_of::<(ChunkId, u32)>(),
        Content::None | Content::List { .. } => 0,
    };
    let extras = &entry.extras;
    let xattrs: usize = extras.xattrs.iter().map(|(name, value)| name.len() + value.len() + 48).sum();
    let target = extras.link_target.as_ref().map_or(0, Vec::len);
    size_of::<Entry>() + entry.path.as_bytes().len() + content + xattrs + target + 16 * extras.holes.len()
}

/// The most entries of a tree. Their numbers are offsets in listings, which are signed: after a larger number a listing
/// would begin again and again.
const ENTRIES: u64 = i64::MAX as u64 - 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_claims_more_entries_than_a_listing_can_number_is_refused() {
        let page = |entries: [u64; 2]| {
            let child = |entries| Child { last_path: TreePath::TOP, id: ChunkId([1; 24]), entries, bytes: 0 };
            sums(&PageContent::Directory(entries.map(child).into()))
        };
        assert_eq!(page([ENTRIES - 20, 20]), Some(vec![ENTRIES - 20, ENTRIES]));
        for entries in [[ENTRIES - 20, 21], [u64::MAX - 20, 20], [20, u64::MAX]] {
            assert_eq!(page(entries), None, "{entries:?}");
        }
    }
}
