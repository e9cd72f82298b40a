//! Classes: makes brackets in a pattern match one character of a name, and never the slash between two names.

/// Rewrites a pattern so that its classes match no slash, as in Git; none if nothing has to change. In globset a slash
/// matches `[!a]`, and `[+-9]`, which includes it. An unclosed class stays as it is.
pub(crate) fn without_slashes(pattern: &str) -> Option<String> {
    rewrite(pattern, "")
}

/// The same for a line of an ignore file, where braces stand for themselves. In globset they hold alternatives.
pub(crate) fn as_in_git(line: &str) -> Option<String> {
    rewrite(line, "{}")
}

/// Rewrites classes, and escapes the characters in `literal`.
fn rewrite(pattern: &str, literal: &str) -> Option<String> {
    let signs: Vec<char> = pattern.chars().collect();
    let (mut out, mut at, mut is_changed) = (String::new(), 0, false);
    while at < signs.len() {
        let end = if signs[at] == '[' { end_of(&signs, at) } else { None };
        match end {
            Some(end) => {
                let class = rewritten(&signs[at + 1..end]);
                is_changed |= class.chars().ne(signs[at + 1..end].iter().copied());
                out.push('[');
                out.push_str(&class);
                out.push(']');
                at = end + 1;
            }
            None if signs[at] == '\\' && at + 1 < signs.len() => {
                out.extend(&signs[at..at + 2]);
                at += 2;
            }
            None => {
                if literal.contains(signs[at]) {
                    out.push('\\');
                    is_changed = true;
                }
                out.push(signs[at]);
                at += 1;
            }
        }
    }
    is_changed.then_some(out)
}

/// Where the class that begins here ends. A bracket that comes first is one of its characters.
fn end_of(signs: &[char], start: usize) -> Option<usize> {
    let negated = usize::from(matches!(signs.get(start + 1), Some('!' | '^')));
    let first = start + 1 + negated;
    let rest = signs.get(first + 1..)?;
    rest.iter().position(|&sign| sign == ']').map(|at| first + 1 + at)
}

fn rewritten(class: &[char]) -> String {
    if let [sign @ ('!' | '^'), members @ ..] = class {
        let members: String = members.iter().collect();
        // A hyphen at the end stands for itself, and has to stay there.
        return match members.strip_suffix('-') {
            _ if members.contains('/') => format!("{sign}{members}"),
            Some(others) => format!("{sign}{others}/-"),
            None => format!("{sign}{members}/"),
        };
    }
    let (mut out, mut at) = (String::new(), 0);
    while at < class.len() {
        match class[at..] {
            [from, '-', to, ..] if from <= '/' && '/' <= to => {
                // The new first character must not have a special meaning.
                match from {
                    '/' => out.push(NOWHERE),
                    '.' => out.push('.'),
                    _ => out.extend([from, '-', '.']),
                }
                match to {
                    '/' => {}
                    '0' => out.push('0'),
                    _ => out.extend(['0', '-', to]),
                }
                at += 3;
            }
            [from, '-', to, ..] => {
                out.extend([from, '-', to]);
                at += 3;
            }
            [sign, ..] => {
                out.push(if sign == '/' { NOWHERE } else { sign });
                at += 1;
            }
            [] => break,
        }
    }
    out
}

/// A character that is in no name.
const NOWHERE: char = '\0';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_class_matches_a_slash_and_all_else_stays() {
        let cases = [
            ("build[!s]*", "build[!s/]*"),
            ("[^a-]", "[^a/-]"),
            ("[!]a]", "[!]a/]"),
            ("x[+-9]y", "x[+-.0-9]y"),
            ("[.-0]", "[.0]"),
            ("[!-~]", "[!-~/]"),
            ("[ -~]", "[ -.0-~]"),
            ("[/!a]", "[\0!a]"),
            ("[/-9]", "[\u{0}0-9]"),
            ("[+-/]", "[+-.]"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(without_slashes(pattern).as_deref(), Some(expected), "{pattern}");
        }
        for pattern in ["*.o", "a/b", "[abc]", "[]a]", "[a-z]x", "\\[!a]", "[!a/]", "x[!a", "[a-]", ""] {
            assert_eq!(without_slashes(pattern), None, "{pattern}");
        }
    }
}
