//! Pattern: stands for many names.

use core::str::FromStr;

/// A text in which `*` stands for any characters and `?` for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Whether it fits a whole text.
    pub fn fits(&self, text: &str) -> bool {
        let (pattern, text): (Vec<char>, Vec<char>) = (self.0.chars().collect(), text.chars().collect());
        let (mut at, mut seen) = (0, 0);
        // The last star, and how much of the text it takes so far.
        let mut star: Option<(usize, usize)> = None;
        while seen < text.len() {
            match (pattern.get(at), star) {
                (Some('*'), _) => {
                    star = Some((at, seen));
                    at += 1;
                }
                (Some(&next), _) if next == '?' || next == text[seen] => (at, seen) = (at + 1, seen + 1),
                (_, Some((place, taken))) => {
                    star = Some((place, taken + 1));
                    (at, seen) = (place + 1, taken + 1);
                }
                (_, None) => return false,
            }
        }
        pattern[at..].iter().all(|&next| next == '*')
    }
}

impl FromStr for Pattern {
    type Err = core::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        let fits = |pattern: &str, text: &str| Pattern(pattern.into()).fits(text);
        for (pattern, text) in
            [("", ""), ("a", "a"), ("*", ""), ("w*-?1", "web-01"), ("*b*b", "abcbb"), ("ü?", "üä"), ("a**", "a")]
        {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", "b"), ("a", "ab"), ("?", ""), ("*b", "abc"), ("w*-1", "web-2")] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }
}
