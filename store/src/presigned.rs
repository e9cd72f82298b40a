//! Presigned: a request for one object that needs no credentials of the client.

use std::fmt;

/// A request for one object: how to send it.
#[derive(Clone, PartialEq, Eq)]
pub struct Presigned {
    /// PUT or GET.
    pub method: &'static str,
    /// The address. If it is signed, it is a secret: whoever knows it may send the request until it expires.
    pub url: String,
    /// Headers that must be sent exactly. A browser sets `content-length` itself.
    pub headers: Vec<(&'static str, String)>,
}

impl fmt::Debug for Presigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = self.url.split('?').next().unwrap_or_default();
        f.debug_struct("Presigned").field("method", &self.method).field("url", &bare).finish_non_exhaustive()
    }
}
