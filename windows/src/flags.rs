//! Flags: how to open, and what something is, in the words of POSIX.
#![allow(missing_docs, reason = "the names are those of POSIX")]

use bitflags::bitflags;

bitflags! {
    /// How to open an entry.
    #[derive(Debug, Copy, Clone, PartialEq, Eq)]
    pub struct OFlags: u32 {
        /// To read it.
        const RDONLY = 0;
        /// To write to it.
        const WRONLY = 1;
        /// To read it and write to it.
        const RDWR = 1 << 1;
        /// To make it.
        const CREATE = 1 << 2;
        /// Only if nothing has the name.
        const EXCL = 1 << 3;
        /// Only a directory.
        const DIRECTORY = 1 << 4;
        /// To look at it, and to find entries in it.
        const PATH = 1 << 5;
        /// Not through a link. Always so here.
        const NOFOLLOW = 1 << 6;
        // Without a meaning here: no open waits, nothing is inherited, reading leaves the access time unless the system's
        // setting says otherwise.
        const NONBLOCK = 1 << 7;
        const NOCTTY = 1 << 8;
        const CLOEXEC = 1 << 9;
        const NOATIME = 1 << 10;
        /// To change its attributes and times.
        const ATTRIBUTES = 1 << 11;
    }

    /// Permissions; Windows keeps none of these.
    #[derive(Debug, Copy, Clone, PartialEq, Eq)]
    pub struct Mode: u32 {
        const RWXU = 0o700;
        const RUSR = 0o400;
        const WUSR = 0o200;
        const RWXG = 0o070;
        const RGRP = 0o040;
        const WGRP = 0o020;
        const SUID = 0o4000;
        const SGID = 0o2000;
        const SVTX = 0o1000;
        /// All others.
        const ANY = 0o7777;
    }

    /// What to do with the entry of a name.
    #[derive(Debug, Copy, Clone, PartialEq, Eq)]
    pub struct AtFlags: u32 {
        /// Remove a directory.
        const REMOVEDIR = 1;
    }
}

/// The kind of an entry.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say all")]
pub enum FileType {
    RegularFile,
    Directory,
    Symlink,
    Fifo,
    Socket,
    CharacterDevice,
    BlockDevice,
    Unknown,
}

impl FileType {
    /// The kind that the type bits of a mode of POSIX name.
    pub fn from_raw_mode(mode: u32) -> Self {
        match mode & 0o170_000 {
            0o100_000 => Self::RegularFile,
            0o040_000 => Self::Directory,
            0o120_000 => Self::Symlink,
            0o010_000 => Self::Fifo,
            0o140_000 => Self::Socket,
            0o020_000 => Self::CharacterDevice,
            0o060_000 => Self::BlockDevice,
            _ => Self::Unknown,
        }
    }
}
