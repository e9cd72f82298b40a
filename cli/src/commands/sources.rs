//! Sources: what to back up and what to leave out, as the command line names it.

use std::ffi::OsString;
use std::io::Read;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use copal_client::filter::{Case, FilterBuilder};
use copal_client::scan::{AsPath, BadAsPath, BadRoot, Marker, Root, Scan, ScanError, ScanOptions};
use copal_client::stat::EntryStat;
use copal_client::words::{bytes_of, os_string};
use copal_format::exclusions::Exclusions;
use copal_format::path::TreePath;

use super::context::Context;
use super::fates;
use crate::args::backup::{Backup, Patterns};
use crate::report::Failure;
use crate::report::field::PathField;
use crate::system::SAVES_ELSEWHERE;

/// What to back up, as the command line names it.
pub(super) enum Sources {
    Roots(Vec<Root>, AsPath),
    Stream { name: Vec<u8>, command: Option<Vec<OsString>> },
}

impl Sources {
    pub(super) fn of(options: &Backup) -> Result<Self, Failure> {
        let names = &options.names;
        if names.stdin || names.stdin_from_command {
            let command = names.stdin_from_command.then(|| options.operands.clone());
            return Ok(Self::Stream { name: stream_name(&bytes_of(&names.stdin_name))?, command });
        }
        if let Some(path) = &names.as_path {
            let [source] = &options.operands[..] else {
                return Err(Failure::Usage("--as-path needs exactly one path to save".into()));
            };
            let root = named_root(path)?;
            let as_path = AsPath::new(&root, Path::new(source)).map_err(bad_as_path)?;
            return Ok(Self::Roots(vec![root], as_path));
        }
        let mut given: Vec<PathBuf> = options.operands.iter().map(PathBuf::from).collect();
        for (files, end) in [(&names.files_from, b'\n'), (&names.files_from0, b'\0')] {
            for file in files {
                given.extend(read_list(file, end)?);
            }
        }
        let roots = given.iter().map(|path| root(path)).collect::<Result<Vec<Root>, Failure>>()?;
        if roots.is_empty() {
            return Err(Failure::Usage("nothing to back up is named".into()));
        }
        Ok(Self::Roots(roots, AsPath::default()))
    }

    /// Where the named paths lie; none for a stream.
    pub(super) fn places(&self) -> Vec<PathBuf> {
        let Self::Roots(roots, as_path) = self else { return Vec::new() };
        roots.iter().map(|root| as_path.source_of(root.path())).collect()
    }

    pub(super) fn paths(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Stream { name, .. } => vec![name.clone()],
            Self::Roots(roots, _) => {
                let mut paths: Vec<Vec<u8>> = roots.iter().map(|root| root.path().as_bytes().to_vec()).collect();
                paths.sort();
                paths.dedup();
                paths
            }
        }
    }

    /// Warns about each named path that is a link to a directory: the link itself is saved, and not the directory.
    pub(super) fn tell_links(&self, context: &Context<'_>) {
        let places = self.places();
        for place in places.iter().filter(|place| place.is_symlink()) {
            let Some(target) = place.canonicalize().ok().filter(|target| target.is_dir()) else { continue };
            if !places.iter().any(|other| target.starts_with(other)) {
                let link = PathField(bytes_of(place.as_os_str()).into_owned()).human();
                let why =
                    "is a link to a directory: only the link is saved; add a slash at its end to save the directory";
                context.report.warn(&format!("{link} {why}"));
            }
        }
    }

    /// The scan of the named paths, and what it leaves out; none for a stream.
    pub(super) fn scan(
        &self,
        repository: Option<&Path>,
        options: &Backup,
        excluded: Option<&fates::Excluded>,
    ) -> Result<Option<(Scan, Exclusions)>, Failure> {
        let Self::Roots(roots, as_path) = self else { return Ok(None) };
        let patterns = patterns(&options.exclude.patterns)?;
        let mut markers = Vec::new();
        if options.exclude.exclude_caches {
            markers.push(Marker::cache_directory());
        }
        for text in &options.exclude.exclude_if_present {
            markers.push(Marker::parse(text).map_err(|error| Failure::Usage(error.to_string()))?);
        }
        let marking = markers.iter().map(Marker::name).chain(options.exclude.ignore_file.iter().map(|name| &**name));
        let exclusions = Exclusions {
            patterns: patterns.added().to_vec(),
            markers: marking.map(|name| bytes_of(name).into_owned()).collect(),
            larger_than: options.exclude.exclude_larger_than.map(|size| size.0),
            one_file_system: options.exclude.one_file_system,
            is_cut: false,
        };
        let forbidden = repository.and_then(|path| EntryStat::of_path(path).ok()).map(|stat| stat.id());
        let scan = Scan::new(ScanOptions {
            roots: roots.clone(),
            as_path: as_path.clone(),
            excludes: patterns.finish()?,
            one_file_system: options.exclude.one_file_system,
            markers,
            ignore_files: options.exclude.ignore_file.clone(),
            exclude_larger_than: exclusions.larger_than,
            on_excluded: excluded.map(|excluded| excluded.counting(as_path.clone())),
            forbidden,
        });
        scan.map(|scan| Some((scan, exclusions)))
            .map_err(|ScanError::InRepository(path)| Failure::InsideRepository { path })
    }
}

fn stream_name(name: &[u8]) -> Result<Vec<u8>, Failure> {
    let trimmed = name.strip_prefix(b"/").unwrap_or(name);
    let path = TreePath::new(trimmed).map_err(|error| Failure::Usage(format!("--stdin-name: {error}")))?;
    if path.is_top() || trimmed.contains(&b'/') {
        return Err(Failure::Usage("--stdin-name is one name, without a slash".into()));
    }
    Ok(trimmed.to_vec())
}

fn root(path: &Path) -> Result<Root, Failure> {
    Root::new(path).map_err(bad_root)
}

/// The absolute places of the given paths. Links are followed, except at the end of a path.
pub(super) fn places_of(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    given.iter().map(|path| Ok(AsPath::default().source_of(root(path)?.path()))).collect()
}

/// The path of `--as-path`.
pub(super) fn named_root(path: &Path) -> Result<Root, Failure> {
    if !SAVES_ELSEWHERE {
        return Err(Failure::Usage("--as-path is not there on Windows: save the path itself".into()));
    }
    Root::named(path).map_err(bad_as_path)
}

pub(super) fn bad_as_path(error: BadAsPath) -> Failure {
    match error {
        BadAsPath::Root(error) => bad_root(error),
        BadAsPath::Path { path, source } => Failure::Usage(format!("--as-path {}: {source}", path.display())),
        error => Failure::Usage(format!("--as-path: {error}")),
    }
}

fn bad_root(error: BadRoot) -> Failure {
    match error {
        BadRoot::Unreachable { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
            Failure::NoSuchPath { path }
        }
        BadRoot::Unreachable { path, source } => Failure::io("read", path, source),
        BadRoot::Path { path, source } => Failure::Usage(format!("{}: {source}", path.display())),
    }
}

/// The patterns of `--exclude`, `--iexclude` and `--exclude-file`.
pub(super) fn patterns(wanted: &Patterns) -> Result<FilterBuilder, Failure> {
    let mut builder = listed(&[(&wanted.exclude, Case::Exact), (&wanted.iexclude, Case::Any)])?;
    for file in &wanted.exclude_file {
        let text = std::fs::read_to_string(file).map_err(|error| Failure::io("read", file, error))?;
        builder.add_lines(&text, Case::Exact)?;
    }
    Ok(builder)
}

/// The patterns of one list after the other.
pub(super) fn listed(lists: &[(&Vec<String>, Case)]) -> Result<FilterBuilder, Failure> {
    let mut builder = FilterBuilder::new();
    for (patterns, case) in lists {
        patterns.iter().try_for_each(|pattern| builder.add(pattern, *case))?;
    }
    Ok(builder)
}

/// The paths in a file, each ended by a byte; "-" is standard input. Editors put more into lists of lines: a byte order
/// mark before the first one, and on Windows a carriage return at the end of each.
pub(super) fn read_list(file: &Path, end: u8) -> Result<Vec<PathBuf>, Failure> {
    let mut bytes = Vec::new();
    let read = match file.as_os_str() == "-" {
        true => std::io::stdin().read_to_end(&mut bytes).map(drop),
        false => std::fs::read(file).map(|read| bytes = read),
    };
    read.map_err(|error| Failure::io("read", file, error))?;
    let are_lines = end == b'\n';
    let listed = bytes.strip_prefix(BYTE_ORDER_MARK).filter(|_| are_lines).unwrap_or(&bytes);
    let names = listed.split(|&byte| byte == end).map(|name| match name {
        [name @ .., b'\r'] if are_lines && CANNOT_NAME_RETURNS => name,
        name => name,
    });
    let names = names.filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(os_string(name.to_vec()))).collect())
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Whether no name on this system can hold a carriage return: so it is on Windows, which alone has this separator.
const CANNOT_NAME_RETURNS: bool = MAIN_SEPARATOR == '\\';
