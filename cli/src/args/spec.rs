//! Snapshot spec: `SNAPSHOT[:PATH]`, a snapshot and maybe a place in it.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, TypedValueParser, ValueParser};
use copal_client::restore::SpecPath;
use copal_client::words::bytes_of;
use copal_format::id::SnapshotId;
use copal_format::path::{BadPath, TreePath};

/// Which snapshot a person means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// `latest`: the newest that the narrowing options leave.
    Latest,
    /// The first digits of an id, in lower case.
    Prefix(String),
}

/// A snapshot, and maybe a place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotSpec {
    pub which: Which,
    /// The place in it; none for the whole snapshot.
    pub path: Option<SpecPath>,
}

/// A text that names no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSpec {
    #[error("a snapshot is \"latest\" or the first digits of an id, as the command \"snapshots\" lists them")]
    Which,
    #[error("no path follows the colon (\":/\" is the snapshot's top)")]
    Empty,
    #[error("{0}")]
    Path(BadPath),
}

impl SnapshotSpec {
    /// Reads `SNAPSHOT[:PATH]`; the path may be any bytes.
    pub fn parse(text: &[u8]) -> Result<Self, BadSpec> {
        let colon = text.iter().position(|&byte| byte == b':');
        let which = Which::parse(&text[..colon.unwrap_or(text.len())])?;
        let path = colon.map(|colon| place(&text[colon + 1..])).transpose()?;
        Ok(Self { which, path })
    }
}

impl Which {
    /// Reads `latest` or the first digits of an id.
    pub fn parse(text: &[u8]) -> Result<Self, BadSpec> {
        if text == b"latest" {
            return Ok(Self::Latest);
        }
        let digits = !text.is_empty() && text.iter().all(u8::is_ascii_hexdigit) && text.len() <= 2 * SnapshotId::LEN;
        let text = core::str::from_utf8(text).ok().filter(|_| digits).ok_or(BadSpec::Which)?;
        Ok(Self::Prefix(text.to_ascii_lowercase()))
    }

    /// Whether an id fits; `latest` fits none.
    pub fn fits(&self, id: SnapshotId) -> bool {
        matches!(self, Self::Prefix(digits) if id.to_string().starts_with(digits.as_str()))
    }
}

pub fn spec() -> ValueParser {
    OsStringValueParser::new().try_map(|text: OsString| SnapshotSpec::parse(&bytes_of(&text))).into()
}

pub fn which() -> ValueParser {
    OsStringValueParser::new().try_map(|text: OsString| Which::parse(&bytes_of(&text))).into()
}

/// Reads a path, without the names that say nothing: empty ones and `.`.
fn place(text: &[u8]) -> Result<SpecPath, BadSpec> {
    if text.is_empty() {
        return Err(BadSpec::Empty);
    }
    let names: Vec<&[u8]> = text.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b".")).collect();
    let path = TreePath::new(names.join(&b'/')).map_err(BadSpec::Path)?;
    Ok(if text[0] == b'/' { SpecPath::Absolute(path) } else { SpecPath::Relative(path) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> TreePath {
        TreePath::new(text).unwrap()
    }

    fn parse(text: &str) -> Result<(Which, Option<SpecPath>), BadSpec> {
        SnapshotSpec::parse(text.as_bytes()).map(|spec| (spec.which, spec.path))
    }

    #[test]
    fn a_snapshot_may_carry_a_path_of_any_form() {
        let digits = || Which::Prefix("ab12".into());
        assert_eq!(parse("latest"), Ok((Which::Latest, None)));
        assert_eq!(parse("AB12"), Ok((digits(), None)));
        assert_eq!(parse("ab12:/home//u/./"), Ok((digits(), Some(SpecPath::Absolute(tree("home/u"))))));
        assert_eq!(parse("latest:u/a:b"), Ok((Which::Latest, Some(SpecPath::Relative(tree("u/a:b"))))));
        assert_eq!(parse("latest:/"), Ok((Which::Latest, Some(SpecPath::Absolute(TreePath::TOP)))));
        let odd = SnapshotSpec::parse(b"latest:/\xff").unwrap();
        assert_eq!(odd.path, Some(SpecPath::Absolute(TreePath::new(*b"\xff").unwrap())));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        assert_eq!(parse("latest:"), Err(BadSpec::Empty));
        for bad in ["", ":a", "newest", "xyz", "Latest", &"a".repeat(33)] {
            assert_eq!(parse(bad), Err(BadSpec::Which), "{bad:?}");
        }
        assert_eq!(parse("latest:../etc"), Err(BadSpec::Path(BadPath::Name)));
    }

    #[test]
    fn a_prefix_fits_ids_that_begin_with_it() {
        let id = SnapshotId([0xab; 16]);
        assert!(Which::parse(b"aBa").unwrap().fits(id) && !Which::parse(b"aa").unwrap().fits(id));
        assert!(!Which::Latest.fits(id));
    }

    #[test]
    fn a_relative_path_is_found_from_the_source_or_beside_it() {
        let places = |text: &str| {
            let path = parse(text).unwrap().1.unwrap();
            path.candidates(&[tree("home/u/docs")]).iter().map(TreePath::to_string).collect::<Vec<_>>()
        };
        assert_eq!(places("latest:a"), ["home/u/docs/a", "a"]);
        assert_eq!(places("latest:docs/a"), ["home/u/docs/docs/a", "home/u/docs/a", "docs/a"]);
        assert_eq!(places("latest:."), ["home/u/docs", ""]);
        assert_eq!(places("latest:/a"), ["a"]);
    }
}
