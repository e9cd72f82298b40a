//! Errno: the errors of Windows under the names that POSIX gives them.

use std::io;

/// An error of the system. Codes that say the same have one value: see [`Errno::from_code`].
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub struct Errno(u32);

macro_rules! errors {
    ($($name:ident = $code:literal,)*) => {
        #[allow(missing_docs, reason = "the names are those of POSIX")]
        impl Errno {
            $(pub const $name: Self = Self($code);)*
        }
    };
}

errors! {
    NOENT = 2,
    MFILE = 4,
    ACCESS = 5,
    NOBUFS = 8,
    NODEV = 15,
    XDEV = 17,
    ROFS = 19,
    BUSY = 32,
    OPNOTSUPP = 50,
    INVAL = 87,
    NOSPC = 112,
    TIMEDOUT = 121,
    NOTEMPTY = 145,
    EXIST = 183,
    NAMETOOLONG = 206,
    RANGE = 234,
    NOTDIR = 267,
    // A directory is in the way of a file.
    ISDIR = 336,
    STALE = 1006,
    ILSEQ = 1113,
    MLINK = 1142,
    NOTCONN = 2250,
    // A symbolic link or a junction is in the way.
    LOOP = 4393,
    PERM = 1314,
    DQUOT = 1816,
}

#[allow(missing_docs, reason = "the names are those of POSIX")]
impl Errno {
    // Windows has one code for these.
    pub const NOSYS: Self = Self::OPNOTSUPP;
    pub const NOTSUP: Self = Self::OPNOTSUPP;
    // Nothing of Windows says these; the values are those of no call that is used here.
    pub const INTR: Self = Self(995);
    pub const AGAIN: Self = Self(996);
    pub const NXIO: Self = Self(20);
    pub const NFILE: Self = Self(164);
    pub const NODATA: Self = Self(1168);
    pub const SHUTDOWN: Self = Self(1115);
}

impl Errno {
    /// The error of a code of Win32.
    pub fn from_code(code: u32) -> Self {
        Self(match code {
            // A part of the path is missing; so is a drive, a server or a share.
            3 | 53 | 67 => 2,
            80 => 183,
            39 => 112,
            // Somebody has the file open, or it is about to vanish.
            33 | 303 => 32,
            1 | 120 => 50,
            14 => 8,
            55 | 64 => 2250,
            code => code,
        })
    }

    /// The error that a call of std returned, if it came from the system.
    pub fn from_io_error(error: &io::Error) -> Option<Self> {
        error.raw_os_error().map(|code| Self::from_code(code.cast_unsigned()))
    }

    /// The code of Win32.
    pub fn raw_os_error(self) -> i32 {
        self.0.cast_signed()
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.raw_os_error())
    }
}
