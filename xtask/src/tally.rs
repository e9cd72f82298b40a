//! Tally: how many tests passed and failed, read from what test programs print.

use std::fmt;

/// Counted tests.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    /// One test, passed or failed.
    pub(crate) fn of(passed: bool) -> Self {
        Self { passed: passed.into(), failed: (!passed).into() }
    }

    /// Counts a check, and prints what came of it.
    pub(crate) fn check(&mut self, what: &str, checked: Result<(), String>) {
        match &checked {
            Ok(()) => println!("ok     {what}"),
            Err(reason) => println!("FAILED {what}: {reason}"),
        }
        *self += Self::of(checked.is_ok());
    }

    /// Adds what a line of output counts; other lines count nothing. Understood are the summaries of Rust's test
    /// programs (an ignored test counts as failed: nothing here may be switched off) and a line `N passed, M failed`.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some(summary) = line.strip_prefix("test result:") {
            let count = |what| number_before(summary, what);
            match (count(" passed;"), count(" failed;"), count(" ignored;")) {
                (Some(passed), Some(failed), Some(ignored)) => *self += Self { passed, failed: failed + ignored },
                _ => self.failed += 1,
            }
        } else if let Some((passed, failed)) = line.split_once(" passed, ")
            && let (Ok(passed), Some(Ok(failed))) = (passed.parse(), failed.strip_suffix(" failed").map(str::parse))
        {
            *self += Self { passed, failed };
        }
    }

    /// Itself, or an error if no test ran, because a filter fits no name or the output has no count.
    pub(crate) fn not_empty(self) -> Result<Self, String> {
        if self == Self::default() { Err("no test ran".to_owned()) } else { Ok(self) }
    }

    /// Why the count is no success: a test failed, or none ran.
    pub(crate) fn verdict(self) -> Option<String> {
        match self {
            Self { failed: 0, passed: 0 } => Some("no test ran".to_owned()),
            Self { failed: 0, .. } => None,
            Self { failed, .. } => Some(format!("{failed} failed")),
        }
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

fn number_before(text: &str, what: &str) -> Option<u64> {
    text[..text.find(what)?].rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read(line));
        tally
    }

    #[test]
    fn summaries_add_up_and_other_lines_count_nothing() {
        let sum = tally(&[
            "running 3 tests",
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.01s",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "7 passed, 1 failed",
            "some passed, others failed",
        ]);
        assert_eq!(sum, Tally { passed: 23, failed: 3 });
    }

    #[test]
    fn an_ignored_test_and_a_summary_that_cannot_be_read_count_as_failed() {
        let ignored = "test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out";
        assert_eq!(tally(&[ignored, "test result: strange"]), Tally { passed: 1, failed: 3 });
    }

    #[test]
    fn a_count_of_nothing_is_an_error_where_a_test_must_run() {
        let filtered = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out";
        assert_eq!(tally(&[filtered]).not_empty(), Err("no test ran".to_owned()));
        assert_eq!(Tally::of(true).not_empty(), Ok(Tally::of(true)));
        assert_eq!(Tally::of(false).not_empty(), Ok(Tally::of(false)));
    }

    #[test]
    fn nothing_run_is_not_success() {
        assert!(Tally::default().verdict().is_some());
        assert!(Tally::of(false).verdict().is_some());
        assert_eq!(Tally::of(true).verdict(), None);
    }
}
