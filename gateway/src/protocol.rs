//! Protocol: the names and sizes that a gateway and its clients agree on.

/// The header that repeats the name of a problem, because an answer to HEAD has no body.
pub const PROBLEM: &str = "copal-problem";
/// The beginning of every problem's type.
pub const TYPES: &str = "urn:copal:problem:";
/// The origin in the URLs of requests through a pipe.
pub const PIPE_ORIGIN: &str = "http://stdio";
/// The HTTP/2 flow control window of one answer, in bytes.
pub const STREAM_WINDOW: u32 = 8 << 20;
/// The HTTP/2 flow control window of a connection, in bytes.
pub const CONNECTION_WINDOW: u32 = 32 << 20;
