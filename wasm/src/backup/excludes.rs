//! Excludes: the page's patterns, as a snapshot records them.

use copal_format::exclusions::{Exclusions, Pattern};

/// The patterns of `web-demo/src/core/source/excludes.ts` as patterns of a snapshot (`docs/format.md` §5.3). The page
/// ties a pattern with an inner slash to the chosen folder, which is the first name of each path. Braces are literal.
pub fn exclusions(lines: &[String]) -> Option<Exclusions> {
    let patterns = lines.iter().filter_map(|line| {
        let (sign, body) = line.strip_prefix('!').map_or(("", line.as_str()), |body| ("!", body));
        let name = body.trim_end().trim_matches('/');
        if name.is_empty() || line.starts_with('#') {
            return None;
        }
        let rest = body.trim_end();
        let is_tied = rest.strip_suffix('/').unwrap_or(rest).contains('/');
        let place = if is_tied { "/*/" } else { "" };
        let body = body.strip_prefix('/').unwrap_or(body).replace('{', "\\{").replace('}', "\\}");
        Some(Pattern { text: format!("{sign}{place}{body}"), any_case: false })
    });
    Exclusions { patterns: patterns.collect(), ..Exclusions::default() }.recorded()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_the_same_in_the_tree_as_below_the_chosen_folder() {
        let read = |line: &str| {
            exclusions(&[line.to_owned()]).map(|read| read.patterns.into_iter().map(|of| of.text).collect::<String>())
        };
        for (line, recorded) in [
            ("*.o", "*.o"),
            ("cache/", "cache/"),
            ("/a", "/*/a"),
            ("a/b", "/*/a/b"),
            ("!a/b/ ", "!/*/a/b/ "),
            ("{a}", "\\{a\\}"),
        ] {
            assert_eq!(read(line).as_deref(), Some(recorded), "{line}");
        }
        for nothing in ["", "# a", "!", "/"] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
    }
}
