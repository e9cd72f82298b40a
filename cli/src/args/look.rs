//! Look: commands that only read, and how they are told which snapshots are meant.

use clap::{Args, ValueEnum};

use copal_format::time::Time;
use copal_format::tree::{Entry, EntryKind};

use super::pattern::Pattern;
use super::spec::{self, SnapshotSpec, Which};
use super::values::{self, Form, GroupBy, Size};

/// Which snapshots are considered.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Which snapshots")]
pub struct Narrow {
    /// Only snapshots that this client has signed (its name, or the first digits of its id); may be repeated: any of them.
    #[arg(long = "client", value_name = "CLIENT")]
    pub clients: Vec<String>,
    /// Only snapshots of this host, like nas or 'web-*'; may be repeated: any of them. A write-only client stands for its registered name only.
    #[arg(long = "host", value_name = "GLOB")]
    pub hosts: Vec<Pattern>,
    /// Only snapshots of this path; may be repeated: all of them.
    #[arg(long = "path", value_name = "PATH")]
    pub paths: Vec<std::path::PathBuf>,
    /// Only snapshots with this tag; may be repeated: all of them.
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Only snapshots with this label; "" means those without one.
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// Only snapshots older than this: 2026-01-31 (its beginning), "2026-01-31 17:05:00", or 7d (seven days ago).
    #[arg(long, value_name = "TIME", value_parser = values::moment)]
    pub before: Option<Time>,
    /// Only snapshots of this time or later.
    #[arg(long, value_name = "TIME", value_parser = values::moment)]
    pub after: Option<Time>,
}

impl Narrow {
    /// Whether they say whose snapshots are meant.
    pub fn names_machines(&self) -> bool {
        !self.hosts.is_empty() || !self.clients.is_empty()
    }

    /// Whether they say which series are meant, and not only which of their snapshots.
    pub fn names_series(&self) -> bool {
        self.names_machines() || !self.paths.is_empty() || self.label.is_some()
    }

    /// Whether they leave any snapshot out.
    pub fn narrows(&self) -> bool {
        *self != Self::default()
    }
}

#[derive(Args, Debug)]
pub struct Snapshots {
    /// Only these snapshots: "latest" or the first digits of an id.
    #[arg(value_name = "SNAPSHOT", value_parser = spec::which())]
    pub snapshots: Vec<Which>,
    /// List forgotten snapshots that "undelete" can bring back.
    #[arg(long)]
    pub forgotten: bool,
    /// Only the newest N of each group.
    #[arg(long, value_name = "N")]
    pub latest: Option<core::num::NonZeroU32>,
    /// List snapshots in groups that have these in common: host, paths, tags, label [default for --latest: host,paths,label].
    #[arg(long, value_name = "LIST")]
    pub group_by: Option<GroupBy>,
    #[command(flatten)]
    pub narrow: Narrow,
}

#[derive(Args, Debug)]
pub struct Ls {
    /// The snapshot, "latest" or the first digits of an id, and a directory in it [default: what was backed up].
    #[arg(value_name = "SNAPSHOT[:PATH]", value_parser = spec::spec())]
    pub snapshot: SnapshotSpec,
    /// Show mode, owner, size and time.
    #[arg(short, long)]
    pub long: bool,
    /// List subdirectories too.
    #[arg(short = 'R', long)]
    pub recursive: bool,
    #[command(flatten)]
    pub narrow: Narrow,
}

#[derive(Args, Debug)]
pub struct Find {
    /// Pattern of the name; with a "/" in it, of the whole path.
    #[arg(value_name = "GLOB")]
    pub glob: String,
    /// Only in these snapshots, or in a directory of them [default: all].
    #[arg(value_name = "SNAPSHOT[:PATH]", value_parser = spec::spec())]
    pub snapshots: Vec<SnapshotSpec>,
    /// Show mode, owner, size and time.
    #[arg(short, long)]
    pub long: bool,
    #[command(flatten)]
    pub wanted: Wanted,
    #[command(flatten)]
    pub narrow: Narrow,
}

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which entries")]
pub struct Wanted {
    /// Only entries of this type; may be repeated: any of them.
    #[arg(long = "type", value_name = "TYPE", value_enum)]
    pub kinds: Vec<Kind>,
    /// Only files larger than this, like 10M.
    #[arg(long, value_name = "SIZE")]
    pub larger: Option<Size>,
    /// Only files smaller than this.
    #[arg(long, value_name = "SIZE")]
    pub smaller: Option<Size>,
    /// Only entries changed at this time or later, like 2026-01-31 or 7d (seven days ago).
    #[arg(long, value_name = "TIME", value_parser = values::moment)]
    pub newer: Option<Time>,
    /// Only entries not changed since this time.
    #[arg(long, value_name = "TIME", value_parser = values::moment)]
    pub older: Option<Time>,
}

impl Wanted {
    pub fn fits(&self, entry: &Entry) -> bool {
        let is_file = entry.kind() == EntryKind::File;
        (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.fits(entry.kind())))
            && self.larger.is_none_or(|size| is_file && entry.size > size.0)
            && self.smaller.is_none_or(|size| is_file && entry.size < size.0)
            && self.newer.is_none_or(|time| entry.mtime >= time)
            && self.older.is_none_or(|time| entry.mtime < time)
    }
}

#[derive(ValueEnum, Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    #[value(alias = "f")]
    File,
    /// A directory.
    #[value(alias = "d")]
    Dir,
    /// A symbolic link.
    #[value(alias = "l")]
    Symlink,
    /// A pipe, socket or device.
    Other,
}

impl Kind {
    fn fits(self, kind: EntryKind) -> bool {
        match kind {
            EntryKind::File => self == Self::File,
            EntryKind::Directory => self == Self::Dir,
            EntryKind::Symlink => self == Self::Symlink,
            _ => self == Self::Other,
        }
    }
}

#[derive(Args, Debug)]
pub struct Diff {
    /// The earlier snapshot, maybe a directory in it.
    #[arg(value_name = "A[:PATH]", value_parser = spec::spec())]
    pub a: SnapshotSpec,
    /// The later snapshot, maybe a directory in it.
    #[arg(value_name = "B[:PATH]", value_parser = spec::spec())]
    pub b: SnapshotSpec,
    /// Show only how many entries and bytes differ, and the largest files among them.
    #[arg(long)]
    pub stat: bool,
    #[command(flatten)]
    pub narrow: Narrow,
}

#[derive(Args, Debug)]
pub struct Dump {
    /// The snapshot, and the file or directory in it.
    #[arg(value_name = "SNAPSHOT:PATH", value_parser = spec::spec())]
    pub snapshot: SnapshotSpec,
    /// Form of the output [default: a file's bytes; a tar archive for a directory].
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: Option<Form>,
    #[command(flatten)]
    pub narrow: Narrow,
}

#[derive(Args, Debug)]
pub struct Cat {
    /// Name of an object of the repository (roots/..., manifests/..., packs/...), or the id of a snapshot, page or chunk.
    #[arg(value_name = "OBJECT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub object: String,
}

#[derive(Args, Clone, Debug)]
pub struct Stats {
    /// Only these snapshots: "latest" or the first digits of an id. The stored sizes are always those of the whole repository.
    #[arg(value_name = "SNAPSHOT", value_parser = spec::which())]
    pub snapshots: Vec<Which>,
    #[command(flatten)]
    pub narrow: Narrow,
}

#[derive(Args, Clone, Debug)]
pub struct Choice {
    /// The snapshots: "latest" or the first digits of an id.
    #[arg(value_name = "SNAPSHOT", required = true, value_parser = spec::which())]
    pub snapshots: Vec<Which>,
    #[command(flatten)]
    pub narrow: Narrow,
}
