//! Windows: names are changed to ones that Windows can store.

use std::ffi::OsString;
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_windows::{OFlags, names, open_path};

/// The place of an entry below a directory; an error if Windows cannot store one of its names.
pub(crate) fn below(root: &Path, path: &TreePath) -> io::Result<PathBuf> {
    let names = path.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    names.map(names::to_disk).try_fold(root.canonicalize()?, |above, name| {
        let name = name.ok_or_else(|| io::Error::from(copal_windows::Errno::ILSEQ))?;
        Ok(above.join(OsString::from_wide(&name)))
    })
}

/// Makes a symbolic link.
pub(crate) fn make_link(target: &[u8], real: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    copal_windows::make_link(open_path(above, OFlags::PATH | OFlags::DIRECTORY)?, name, target, false)
}

/// Sets the modification time, also of a symbolic link itself.
pub(crate) fn set_time(real: &Path, time: Time) -> io::Result<()> {
    let opened = open_path(real, OFlags::ATTRIBUTES)?;
    Ok(copal_windows::put_times(&opened, copal_windows::ticks(time.to_unix()), None)?)
}
