//! Source: a Rust file reduced to what layering is about: the paths and words of its code, without comments and texts.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A path as it is written out in full: `use a::{b, c::d};` gives `a::b` and `a::c::d`.
pub(crate) type CodePath = Vec<String>;

/// The words and signs of a file's code; texts, characters and numbers are left out.
pub(crate) fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    add(source.parse().expect("Rust"), &mut tokens);
    tokens
}

fn add(stream: TokenStream, tokens: &mut Vec<String>) {
    let mut is_joined = false;
    for tree in stream {
        match &tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket | Delimiter::None => ("[", "]"),
                };
                tokens.push(open.to_owned());
                add(group.stream(), tokens);
                tokens.push(close.to_owned());
            }
            TokenTree::Punct(sign) if is_joined && sign.as_char() == ':' => {
                tokens.pop();
                tokens.push("::".to_owned());
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => tokens.push(tree.to_string()),
            TokenTree::Literal(_) => {}
        }
        is_joined = matches!(tree, TokenTree::Punct(sign) if sign.as_char() == ':' && sign.spacing() == Spacing::Joint);
    }
}

/// The same without what only tests see: every item under an attribute `#[cfg(test)]`.
pub(crate) fn without_tests(tokens: &[String]) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].iter().take(MARK.len()).eq(&MARK) {
            at = item_end(tokens, at + MARK.len());
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Every path of two or more segments.
pub(crate) fn paths(tokens: &[String]) -> Vec<CodePath> {
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let starts = is_word(&tokens[at]) && tokens.get(at + 1).is_some_and(|next| next == "::");
        at = if starts { path(tokens, at, &[], &mut paths) } else { at + 1 };
    }
    paths.retain(|path| path.len() > 1);
    paths
}

/// Reads a path (or a group of them) at `at`; gives where it ends.
fn path(tokens: &[String], mut at: usize, before: &[String], paths: &mut Vec<CodePath>) -> usize {
    let mut segments = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(token) if token == "{" && !segments.is_empty() => return group(tokens, at + 1, &segments, paths),
            Some(token) if is_word(token) || token == "*" => segments.push(token.clone()),
            _ => break,
        }
        at += 1;
        if tokens.get(at).is_none_or(|token| token != "::") {
            break;
        }
        at += 1;
    }
    paths.push(segments);
    at
}

fn group(tokens: &[String], mut at: usize, before: &[String], paths: &mut Vec<CodePath>) -> usize {
    while let Some(token) = tokens.get(at) {
        at = match token.as_str() {
            "}" => return at + 1,
            "as" => at + 2,
            word if is_word(word) || word == "*" => path(tokens, at, before, paths),
            _ => at + 1,
        };
    }
    at
}

/// Where the item that starts at `at` ends: behind its braces, or its semicolon.
fn item_end(tokens: &[String], at: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match token.as_str() {
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

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

#[test]
fn paths_are_written_out_without_texts_comments_and_what_only_tests_see() {
    let source = r####"use crate::{id::{ChunkId, self as x}, wire::cbor as c, *}; /* a::b */ // c::d
        let e: ::f = "g::h"; #[cfg(test)] mod tests { use i::j; fn k() { l::m } } #[cfg(test)] use n::o;
        fn p<'a>(q: &'a r::s) { std::fs::read(t)?; }"####;
    let written: Vec<String> = paths(&without_tests(&tokens(source))).iter().map(|path| path.join("::")).collect();
    let group = ["crate::id::ChunkId", "crate::id::self", "crate::wire::cbor", "crate::*"];
    assert_eq!(written, [&group[..], &["r::s", "std::fs::read"]].concat());
}
