//! Extras: what [`super::stat::EntryStat`] does not hold.

use std::io;

/// An extended attribute: its name with the namespace, such as `user.note`, and its value. ACLs are attributes too, in the
/// kernel's form.
pub type Xattr = (Vec<u8>, Vec<u8>);

/// The extended attributes of an entry, by name.
#[derive(Debug, Default)]
pub struct Extras {
    /// Attributes that could be read.
    pub xattrs: Vec<Xattr>,
    /// Attributes that could not be read, with the reason. An empty name means that listing them failed.
    pub unreadable: Vec<(Vec<u8>, io::Error)>,
}
