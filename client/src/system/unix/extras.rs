//! Extras: the extended attributes of an entry, by calls that list and read them.

use std::ffi::CString;

use rustix::io::Errno;

use crate::system::attributes::{ABSENT, whole};
use crate::system::extras::Extras;

/// Reads the attributes that `is_stored` wants, each by a call that writes into a buffer and gives the length.
pub(crate) fn collect(
    list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
    value: impl Fn(&CString, &mut [u8]) -> rustix::io::Result<usize>,
    is_stored: impl Fn(&[u8]) -> bool,
) -> Extras {
    let mut extras = Extras::default();
    let names = match whole(&list) {
        Ok(names) => names,
        Err(Errno::NOTSUP | Errno::NOSYS) => return extras,
        Err(error) => {
            extras.unreadable.push((Vec::new(), error.into()));
            return extras;
        }
    };
    for name in names.split(|&byte| byte == 0).filter(|name| is_stored(name)) {
        let c_name = CString::new(name).expect("the list was split at its zero bytes");
        match whole(|buffer| value(&c_name, buffer)) {
            Ok(value) => extras.xattrs.push((name.into(), value)),
            // The attribute was removed after it was listed.
            Err(ABSENT) => {}
            Err(error) => extras.unreadable.push((name.into(), error.into())),
        }
    }
    extras.xattrs.sort_unstable();
    extras
}
