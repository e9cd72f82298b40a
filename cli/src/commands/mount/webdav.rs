//! WebDAV: the tree of snapshots as a library for WebDAV wants it, read-only.

use std::fmt;
use std::io::SeekFrom;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Buf, Bytes};
use copal_client::browse::{Attributes, BrowseError, Browser, Listed, Node};
use copal_format::time::Time;
use copal_format::tree::EntryKind;
use dav_server::davpath::DavPath;
use dav_server::fs::{
    DavDirEntry, DavFile, DavFileSystem, DavMetaData, FsError, FsFuture, FsResult, FsStream, OpenOptions, ReadDirMeta,
};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::page::page;

/// The tree, as the library wants it. Links to snapshots are shown as the snapshots; other links are not shown.
#[derive(Clone)]
pub(super) struct Snapshots {
    pub(super) browser: Arc<Browser>,
}

impl Snapshots {
    /// Does something with the node of a path, on a thread that may wait.
    fn at<'a, T: Send + 'static>(
        &'a self,
        path: &DavPath,
        act: impl FnOnce(Arc<Browser>, Node) -> FsResult<T> + Send + 'static,
    ) -> FsFuture<'a, T> {
        let (browser, path) = (self.browser.clone(), path.as_bytes().to_vec());
        Box::pin(blocking(move || {
            let mut node = browser.top();
            for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
                node = browser.follow(browser.find(&node, name).map_err(problem)?.ok_or(FsError::NotFound)?);
            }
            act(browser, node)
        }))
    }

    /// A directory as a page for browsers. The library's own page leaves out names that begin with a dot.
    pub(super) fn page(&self, path: &DavPath) -> FsFuture<'_, String> {
        let directory = path.as_bytes().to_vec();
        self.at(path, move |browser, node| {
            let mut names = Vec::new();
            let listed = browser.list(&node, None, &mut |listed| {
                names.extend(Named::of(&browser, listed).map(|named| (named.name, named.meta.0)));
                true
            });
            match listed {
                Ok(()) => Ok(page(&directory, names, true)),
                Err(BrowseError::Incomplete) => Ok(page(&directory, names, false)),
                Err(error) => Err(problem(error)),
            }
        })
    }
}

impl DavFileSystem for Snapshots {
    fn open<'a>(&'a self, path: &'a DavPath, options: OpenOptions) -> FsFuture<'a, Box<dyn DavFile>> {
        if options.write || options.append || options.create || options.create_new || options.truncate {
            return Box::pin(async { Err(FsError::Forbidden) });
        }
        self.at(path, |browser, node| {
            let meta = Meta::of(&browser, &node)?;
            Ok(Box::new(OpenFile { browser, node, meta, offset: 0 }) as Box<dyn DavFile>)
        })
    }

    fn read_dir<'a>(&'a self, path: &'a DavPath, _: ReadDirMeta) -> FsFuture<'a, FsStream<Box<dyn DavDirEntry>>> {
        self.at(path, |browser, node| {
            let (sender, mut receiver) = mpsc::channel(256);
            spawn_blocking(move || {
                let listed = browser.list(&node, None, &mut |listed| match Named::of(&browser, listed) {
                    Some(named) => sender.blocking_send(Ok(Box::new(named) as Box<dyn DavDirEntry>)).is_ok(),
                    None => true,
                });
                if let Err(error) = listed {
                    let _ = sender.blocking_send(Err(problem(error)));
                }
            });
            Ok(Box::pin(futures::stream::poll_fn(move |context| receiver.poll_recv(context))) as FsStream<_>)
        })
    }

    fn metadata<'a>(&'a self, path: &'a DavPath) -> FsFuture<'a, Box<dyn DavMetaData>> {
        self.at(path, |browser, node| Ok(Box::new(Meta::of(&browser, &node)?) as Box<dyn DavMetaData>))
    }
}

struct Named {
    name: Vec<u8>,
    meta: Meta,
}

impl Named {
    /// A name in a directory; none if it is not shown.
    fn of(browser: &Browser, listed: Listed) -> Option<Self> {
        let attributes = match listed.attributes.kind {
            EntryKind::Symlink => browser.attributes(&browser.follow(listed.node)),
            _ => Ok(listed.attributes),
        };
        let meta = attributes.ok().map(Meta).filter(Meta::is_shown)?;
        Some(Self { name: listed.name, meta })
    }
}

impl DavDirEntry for Named {
    fn name(&self) -> Vec<u8> {
        self.name.clone()
    }

    fn metadata(&self) -> FsFuture<'_, Box<dyn DavMetaData>> {
        Box::pin(async { Ok(Box::new(self.meta) as Box<dyn DavMetaData>) })
    }
}

#[derive(Copy, Clone, Debug)]
struct Meta(Attributes);

impl Meta {
    fn of(browser: &Browser, node: &Node) -> FsResult<Self> {
        let meta = Self(browser.attributes(node).map_err(problem)?);
        if meta.is_shown() { Ok(meta) } else { Err(FsError::NotFound) }
    }

    fn is_shown(&self) -> bool {
        matches!(self.0.kind, EntryKind::File | EntryKind::Directory)
    }
}

impl DavMetaData for Meta {
    fn len(&self) -> u64 {
        if self.is_dir() { 0 } else { self.0.size }
    }

    fn modified(&self) -> FsResult<SystemTime> {
        Ok(since_1970(self.0.mtime))
    }

    fn created(&self) -> FsResult<SystemTime> {
        self.0.birth.map(since_1970).ok_or(FsError::NotImplemented)
    }

    fn is_dir(&self) -> bool {
        self.0.kind == EntryKind::Directory
    }

    fn etag(&self) -> Option<String> {
        // What a snapshot holds under a name never changes.
        Some(format!("{:x}", self.0.inode))
    }
}

struct OpenFile {
    browser: Arc<Browser>,
    node: Node,
    meta: Meta,
    offset: u64,
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenFile").field("meta", &self.meta).field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl DavFile for OpenFile {
    fn metadata(&mut self) -> FsFuture<'_, Box<dyn DavMetaData>> {
        Box::pin(async { Ok(Box::new(self.meta) as Box<dyn DavMetaData>) })
    }

    fn read_bytes(&mut self, count: usize) -> FsFuture<'_, Bytes> {
        let (browser, node, offset) = (self.browser.clone(), self.node.clone(), self.offset);
        let count = count.min(READ_BYTES) as u32;
        Box::pin(async move {
            let bytes = blocking(move || browser.read(&node, offset, count).map_err(problem)).await?;
            self.offset = self.offset.saturating_add(bytes.len() as u64);
            Ok(bytes.into())
        })
    }

    fn seek(&mut self, to: SeekFrom) -> FsFuture<'_, u64> {
        let offset = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => self.offset.checked_add_signed(by),
            SeekFrom::End(by) => self.meta.0.size.checked_add_signed(by),
        };
        Box::pin(async move {
            self.offset = offset.ok_or(FsError::GeneralFailure)?;
            Ok(self.offset)
        })
    }

    fn write_buf(&mut self, _: Box<dyn Buf + Send>) -> FsFuture<'_, ()> {
        Box::pin(async { Err(FsError::Forbidden) })
    }

    fn write_bytes(&mut self, _: Bytes) -> FsFuture<'_, ()> {
        Box::pin(async { Err(FsError::Forbidden) })
    }

    fn flush(&mut self) -> FsFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

async fn blocking<T: Send + 'static>(act: impl FnOnce() -> FsResult<T> + Send + 'static) -> FsResult<T> {
    spawn_blocking(act).await.unwrap_or(Err(FsError::GeneralFailure))
}

fn problem(error: BrowseError) -> FsError {
    match error {
        BrowseError::Absent | BrowseError::Kind => FsError::NotFound,
        BrowseError::Incomplete | BrowseError::Read(_) | BrowseError::Content(_) => FsError::GeneralFailure,
    }
}

/// A time as HTTP can express it: not before 1970.
fn since_1970(time: Time) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(u64::try_from(time.0).unwrap_or(0))
}

pub(super) const READ_BYTES: usize = 1 << 20;
