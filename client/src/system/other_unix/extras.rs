//! Extras: extended attributes and link targets. On macOS a resource fork and what the Finder knows are attributes, too;
//! those of FreeBSD are not read yet.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{CWD, readlinkat};

use crate::system::extras::Extras;

/// Where a link points.
pub fn link_target(path: &Path) -> io::Result<Vec<u8>> {
    Ok(readlinkat(CWD, path, Vec::new())?.into_bytes())
}

#[cfg(target_vendor = "apple")]
impl Extras {
    /// Reads the attributes of an entry by path. Does not follow a final link.
    pub fn read(path: &Path) -> Self {
        collect(|buffer| rustix::fs::llistxattr(path, buffer), |name, buffer| rustix::fs::lgetxattr(path, name, buffer))
    }

    /// Reads the attributes of an open file.
    pub fn of_file(file: impl AsFd) -> Self {
        collect(
            |buffer| rustix::fs::flistxattr(&file, buffer),
            |name, buffer| rustix::fs::fgetxattr(&file, name, buffer),
        )
    }
}

#[cfg(not(target_vendor = "apple"))]
impl Extras {
    /// Reads no attributes.
    pub fn read(_: &Path) -> Self {
        Self::default()
    }

    /// Reads no attributes.
    pub fn of_file(_: impl AsFd) -> Self {
        Self::default()
    }
}

#[cfg(target_vendor = "apple")]
fn collect(
    list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
    value: impl Fn(&std::ffi::CStr, &mut [u8]) -> rustix::io::Result<usize>,
) -> Extras {
    use rustix::io::Errno;
    // Without room the calls tell how much they need.
    let whole = |call: &dyn Fn(&mut [u8]) -> rustix::io::Result<usize>| {
        let mut bytes = vec![0; call(&mut [])?];
        let length = if bytes.is_empty() { 0 } else { call(&mut bytes)? };
        bytes.truncate(length);
        Ok::<_, Errno>(bytes)
    };
    let mut extras = Extras::default();
    let names = match whole(&list) {
        Ok(names) => names,
        Err(Errno::NOTSUP | Errno::PERM) => return extras,
        Err(error) => {
            extras.unreadable.push((Vec::new(), error.into()));
            return extras;
        }
    };
    for name in names.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let c_name = std::ffi::CString::new(name).expect("the list was split at its zero bytes");
        match whole(&|buffer| value(&c_name, buffer)) {
            Ok(value) => extras.xattrs.push((name.into(), value)),
            // The attribute was removed after it was listed.
            Err(Errno::NODATA) => {}
            Err(error) => extras.unreadable.push((name.into(), error.into())),
        }
    }
    extras.xattrs.sort_unstable();
    extras
}
