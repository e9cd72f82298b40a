//! Source: a Rust file reduced to what layering is about: the paths and words of its code, without comments and texts.

use std::iter::Peekable;
use std::str::Chars;

/// A word or sign of code, and its line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// A path as it is written out in full: `use a::{b, c::d};` gives `a::b` and `a::c::d`.
#[derive(Debug, PartialEq)]
pub(crate) struct CodePath {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
}

/// The words and signs of a file's code; texts and characters are left out.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let mut chars = source.chars().peekable();
    let mut tokens = Vec::new();
    let mut line = 1;
    while let Some(c) = chars.next() {
        let mut text = c.to_string();
        match c {
            '\n' => line += 1,
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|&c| c != '\n').is_some() {},
            '/' if chars.peek() == Some(&'*') => line += skip_comment(&mut chars),
            '"' => line += skip_text(&mut chars),
            '\'' => skip_character(&mut chars),
            ':' if chars.next_if_eq(&':').is_some() => tokens.push(Token { text: "::".into(), line }),
            c if c.is_alphanumeric() || c == '_' => {
                while let Some(c) = chars.next_if(|&c| c.is_alphanumeric() || c == '_') {
                    text.push(c);
                }
                let raw = matches!(text.as_str(), "r" | "br") && matches!(chars.peek(), Some('"' | '#'));
                if raw {
                    line += skip_raw_text(&mut chars);
                } else {
                    tokens.push(Token { text, line });
                }
            }
            c if c.is_whitespace() => {}
            _ => tokens.push(Token { text, line }),
        }
    }
    tokens
}

/// The same without what only tests see: every item under an attribute `#[cfg(test)]`.
pub(crate) fn without_tests(tokens: &[Token]) -> Vec<Token> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if MARK.iter().zip(&tokens[at..]).filter(|(mark, token)| *mark == &token.text).count() == MARK.len() {
            at = item_end(tokens, at + MARK.len());
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Every path of two or more segments.
pub(crate) fn paths(tokens: &[Token]) -> Vec<CodePath> {
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let starts = is_word(&tokens[at]) && tokens.get(at + 1).is_some_and(|next| next.text == "::");
        at = if starts { path(tokens, at, &[], &mut paths) } else { at + 1 };
    }
    paths.retain(|path| path.segments.len() > 1);
    paths
}

/// Reads a path (or a group of them) at `at`; gives where it ends.
fn path(tokens: &[Token], mut at: usize, before: &[String], paths: &mut Vec<CodePath>) -> usize {
    let mut segments = before.to_vec();
    let line = tokens[at].line;
    loop {
        match tokens.get(at) {
            Some(token) if token.text == "{" && !segments.is_empty() => return group(tokens, at + 1, &segments, paths),
            Some(token) if is_word(token) || token.text == "*" => segments.push(token.text.clone()),
            _ => break,
        }
        at += 1;
        if tokens.get(at).is_none_or(|token| token.text != "::") {
            break;
        }
        at += 1;
    }
    paths.push(CodePath { segments, line });
    at
}

fn group(tokens: &[Token], mut at: usize, before: &[String], paths: &mut Vec<CodePath>) -> usize {
    while let Some(token) = tokens.get(at) {
        at = match token.text.as_str() {
            "}" => return at + 1,
            "as" => at + 2,
            _ if is_word(token) || token.text == "*" => path(tokens, at, before, paths),
            _ => at + 1,
        };
    }
    at
}

/// Where the item that starts at `at` ends: behind its braces, or its semicolon.
fn item_end(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" => depth -= 1,
            "}" => {
                depth -= 1;
                if depth == 0 {
                    return i + 1;
                }
            }
            ";" if depth == 0 => return i + 1,
            _ => {}
        }
    }
    tokens.len()
}

fn is_word(token: &Token) -> bool {
    token.text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Each of the following skips the rest of what has begun; those that can span lines give how many they spanned.
fn skip_comment(chars: &mut Peekable<Chars>) -> usize {
    chars.next();
    let (mut lines, mut depth) = (0, 1);
    while let Some(c) = chars.next() {
        match c {
            '\n' => lines += 1,
            '*' if chars.next_if_eq(&'/').is_some() => depth -= 1,
            '/' if chars.next_if_eq(&'*').is_some() => depth += 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    lines
}

fn skip_text(chars: &mut Peekable<Chars>) -> usize {
    let mut lines = 0;
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => lines += usize::from(chars.next() == Some('\n')),
            _ => lines += usize::from(c == '\n'),
        }
    }
    lines
}

fn skip_raw_text(chars: &mut Peekable<Chars>) -> usize {
    let mut hashes = 0;
    while chars.next_if_eq(&'#').is_some() {
        hashes += 1;
    }
    if chars.next_if_eq(&'"').is_none() {
        return 0; // a raw word, as r#type
    }
    let (mut lines, mut seen) = (0, None);
    for c in chars.by_ref() {
        lines += usize::from(c == '\n');
        seen = match (c, seen) {
            ('"', _) => Some(0),
            ('#', Some(n)) => Some(n + 1),
            _ => None,
        };
        if seen == Some(hashes) {
            break;
        }
    }
    lines
}

/// A lifetime has no closing quote: its word stays in the code, where it does no harm.
fn skip_character(chars: &mut Peekable<Chars>) {
    let mut ahead = chars.clone();
    match (ahead.next(), ahead.next()) {
        (Some('\\'), Some(_)) => {
            chars.nth(1);
            while chars.next().is_some_and(|c| c != '\'') {}
        }
        (Some(_), Some('\'')) => {
            chars.nth(1);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(source: &str) -> Vec<String> {
        paths(&without_tests(&tokens(source))).iter().map(|path| path.segments.join("::")).collect()
    }

    #[test]
    fn groups_are_written_out() {
        let source = "use crate::{id::{ChunkId, self as x}, wire::cbor as c, *};\nlet a = std::fs::read(b)?;";
        let expected = ["crate::id::ChunkId", "crate::id::self", "crate::wire::cbor", "crate::*", "std::fs::read"];
        assert_eq!(written(source), expected);
    }

    #[test]
    fn comments_texts_and_characters_are_not_code() {
        let source = r####"/* a::b /* c::d */ e::f */ // g::h
            let x = ("i::j \" k::l", r#"m::n" o::p"#, '"', '\'', b'\n'); fn f<'a>(x: &'a q::R) {}"####;
        assert_eq!(written(source), ["q::R"]);
    }

    #[test]
    fn what_only_tests_see_is_left_out() {
        let source = "a::b; #[cfg(test)] mod tests { use c::d; fn f() { e::g } } h::i; #[cfg(test)] use j::k; l::m;";
        assert_eq!(written(source), ["a::b", "h::i", "l::m"]);
    }

    #[test]
    fn lines_are_counted_through_everything() {
        let source = "/*\n*/ \"\n\" r#\"\n\"# //\n a::b";
        assert_eq!(paths(&tokens(source))[0].line, 5);
    }
}
