//! Exit: the exit codes of the command.

use std::process::ExitCode;

#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Exit {
    /// Everything asked for is done.
    #[default]
    Done = 0,
    Failed = 1,
    Usage = 2,
    /// Done, but some entries could not be read or written; each is reported.
    Partial = 3,
    Damage = 4,
    /// The manifest was rejected, or its receipt is not there yet.
    Rejected = 5,
    NoRepository = 10,
    /// Another run of the same profile has not ended yet.
    Busy = 11,
    /// The passphrase, key file or recovery code opens nothing.
    WrongPassphrase = 12,
    Interrupted = 130,
}

impl Exit {
    /// The worse of two endings: the exit code of a command that did both.
    pub fn or_worse(self, other: Self) -> Self {
        use Exit::*;
        const FROM_GOOD_TO_BAD: [Exit; 10] =
            [Done, Partial, Busy, Rejected, Failed, Usage, NoRepository, WrongPassphrase, Damage, Interrupted];
        let badness = |exit| FROM_GOOD_TO_BAD.iter().position(|&one| one == exit);
        if badness(other) > badness(self) { other } else { self }
    }

    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_that_scripts_rely_on() {
        use Exit::*;
        let all = [Done, Failed, Usage, Partial, Damage, Rejected, NoRepository, Busy, WrongPassphrase, Interrupted];
        assert_eq!(all.map(Exit::code), [0, 1, 2, 3, 4, 5, 10, 11, 12, 130]);
    }
}
