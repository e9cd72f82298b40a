//! Places: where on Windows an entry of a tree lies. `C:\Users\a` is `C/Users/a` in the tree, `\\server\share\a` is
//! `UNC/server/share/a`.

use crate::{names, wtf8};

/// The path in the tree of an absolute path of Windows, with or without `\\?\`; none if it begins otherwise.
pub fn in_tree(path: &[u16]) -> Option<Vec<u8>> {
    let verbatim = strip(path, r"\\?\");
    let path = verbatim.unwrap_or(path);
    let share = if verbatim.is_some() { strip(path, r"UNC\") } else { strip(path, r"\\") };
    let mut names = Vec::new();
    let rest = match share {
        Some(rest) => {
            names.push(UNC.to_vec());
            rest
        }
        None => {
            let (drive, rest) = path.split_at_checked(2)?;
            let letter = u8::try_from(drive[0]).ok().filter(u8::is_ascii_alphabetic)?;
            if drive[1] != u16::from(b':') || rest.first().is_some_and(|unit| !is_separator(*unit)) {
                return None;
            }
            names.push(vec![letter.to_ascii_uppercase()]);
            rest
        }
    };
    names.extend(rest.split(|unit| is_separator(*unit)).filter(|name| !name.is_empty()).map(names::from_disk));
    Some(names.join(&b'/'))
}

/// The path of Windows for a path of the tree. What lies above drives and shares has a path that only [`is_above`] knows.
/// A name that Windows cannot keep is shown with U+FFFD: nothing has that name.
pub fn on_windows(tree: &[u8]) -> Vec<u16> {
    let mut names = tree.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).peekable();
    let mut path: Vec<u16> = Vec::new();
    match names.peek() {
        Some([letter]) if letter.is_ascii_alphabetic() => {
            path.extend([u16::from(*letter), u16::from(b':')]);
            names.next();
            if names.peek().is_none() {
                path.push(SEPARATOR);
            }
        }
        Some(&UNC) => {
            path.push(SEPARATOR);
            names.next();
            if names.peek().is_none() {
                path.push(SEPARATOR);
            }
        }
        Some(_) => {}
        None => path.push(SEPARATOR),
    }
    for name in names {
        path.push(SEPARATOR);
        let shown = || String::from_utf8_lossy(name).encode_utf16().collect();
        path.extend(names::to_disk(name).unwrap_or_else(shown));
    }
    path
}

/// Whether a path is that of [`on_windows`] for something above drives and shares: the top, all servers, or one server.
pub fn is_above(path: &[u16]) -> bool {
    match strip(path, r"\") {
        Some([]) => true,
        Some([SEPARATOR, server @ ..]) => !server.contains(&SEPARATOR) && server != [u16::from(b'?')],
        _ => false,
    }
}

/// The name of the object manager for an absolute path: nothing in it is interpreted any more, and it may have 32,767
/// units.
pub fn native(path: &[u16]) -> Option<Vec<u16>> {
    let (begin, rest) = match (strip(path, r"\\?\"), strip(path, r"\\")) {
        (Some(verbatim), _) => (r"\??\", verbatim),
        (None, Some(share)) => (r"\??\UNC\", share),
        (None, None) => (r"\??\", path),
    };
    let has_drive = path.get(1) == Some(&u16::from(b':'));
    let native = rest.iter().map(|&unit| if is_separator(unit) { SEPARATOR } else { unit });
    (has_drive || path.starts_with(&[SEPARATOR; 2])).then(|| begin.encode_utf16().chain(native).collect())
}

/// The path of what lies in something above drives and shares (see [`is_above`]): none if nothing can.
pub fn child(above: &[u16], name: &[u8]) -> Option<Vec<u16>> {
    let units = names::to_disk(name)?;
    match (above, name) {
        ([SEPARATOR], [letter]) if letter.is_ascii_alphabetic() => Some([units[0], b':'.into(), SEPARATOR].into()),
        ([SEPARATOR], UNC) => Some(vec![SEPARATOR; 2]),
        ([SEPARATOR], _) => None,
        ([SEPARATOR, SEPARATOR], _) => Some([above, &units].concat()),
        _ => Some([above, &[SEPARATOR], &units].concat()),
    }
}

/// The target of a symbolic link as Windows follows it; none if it cannot hold it. A relative one is made of names, as a path
/// is; one that begins elsewhere stays the text that it is.
pub fn link_on_windows(target: &[u8]) -> Option<Vec<u16>> {
    let text = wtf8::decode(target)?;
    if is_relative(&text) {
        let names = target.split(|byte| *byte == b'/').map(names::to_disk);
        return Some(names.collect::<Option<Vec<_>>>()?.join(&SEPARATOR));
    }
    Some(text)
}

/// The same back.
pub fn link_in_tree(target: &[u16]) -> Vec<u8> {
    if is_relative(target) {
        return target.split(|unit| is_separator(*unit)).map(names::from_disk).collect::<Vec<_>>().join(&b'/');
    }
    wtf8::encode(target.iter().copied())
}

fn is_relative(target: &[u16]) -> bool {
    !target.first().is_some_and(|unit| is_separator(*unit)) && in_tree(target).is_none()
}

fn strip<'p>(path: &'p [u16], prefix: &str) -> Option<&'p [u16]> {
    let prefix: Vec<u16> = prefix.encode_utf16().collect();
    path.strip_prefix(prefix.as_slice())
}

fn is_separator(unit: u16) -> bool {
    unit == SEPARATOR || unit == u16::from(b'/')
}

const UNC: &[u8] = b"UNC";
const SEPARATOR: u16 = b'\\' as u16;

#[cfg(test)]
mod tests {
    use super::*;

    fn in_tree_of_text(path: &str) -> Option<Vec<u8>> {
        in_tree(&path.encode_utf16().collect::<Vec<_>>())
    }

    fn shown(tree: &[u8]) -> String {
        String::from_utf16(&on_windows(tree)).unwrap()
    }

    #[test]
    fn drives_and_shares_have_a_place_in_the_tree_and_back() {
        for (path, tree) in [
            (r"C:\", "C"),
            (r"C:\Users\a b", "C/Users/a b"),
            (r"\\server\share\a", "UNC/server/share/a"),
            (r"\\server\share", "UNC/server/share"),
        ] {
            assert_eq!(in_tree_of_text(path).as_deref(), Some(tree.as_bytes()), "{path}");
            assert_eq!(shown(tree.as_bytes()), path);
        }
    }

    #[test]
    fn verbatim_paths_and_other_spellings_have_the_same_place() {
        for (path, tree) in [
            (r"\\?\c:\Users\", "C/Users"),
            ("c:/Users/a", "C/Users/a"),
            (r"\\?\UNC\server\share\a", "UNC/server/share/a"),
        ] {
            assert_eq!(in_tree_of_text(path).as_deref(), Some(tree.as_bytes()), "{path}");
        }
    }

    #[test]
    fn paths_that_are_not_absolute_have_no_place() {
        for path in ["", "a", r"C:a", r"\a", r"1:\a", "é:"] {
            assert_eq!(in_tree_of_text(path), None, "{path}");
        }
    }

    #[test]
    fn what_lies_above_drives_and_shares_is_told_apart() {
        let above = |tree: &[u8]| is_above(&on_windows(tree));
        assert!(above(b"") && above(b"UNC") && above(b"UNC/server"));
        assert!(!above(b"C") && !above(b"UNC/server/share") && !above(b"home"));
    }

    #[test]
    fn what_lies_above_leads_to_drives_and_shares() {
        let walk = |tree: &str| {
            let names = tree.split('/').filter(|name| !name.is_empty());
            names.fold(on_windows(b""), |above, name| child(&above, name.as_bytes()).unwrap())
        };
        for tree in ["C", "UNC", "UNC/server", "UNC/server/share"] {
            assert_eq!(walk(tree), on_windows(tree.as_bytes()), "{tree}");
        }
        assert_eq!(child(&on_windows(b""), b"home"), None);
    }

    #[test]
    fn relative_links_lead_to_the_same_entry_on_both_systems() {
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        for (tree, windows) in [
            ("../a b/c", r"..\a b\c"),
            ("file", "file"),
            ("what?/x", "what\u{f03f}\\x"),
            // Not relative: as it is.
            ("/etc/passwd", "/etc/passwd"),
            (r"C:\Users\a", r"C:\Users\a"),
            (r"\\?\C:\a", r"\\?\C:\a"),
        ] {
            assert_eq!(link_on_windows(tree.as_bytes()), Some(units(windows)), "{tree}");
            assert_eq!(link_in_tree(&units(windows)), tree.as_bytes(), "{windows}");
        }
        assert_eq!(link_on_windows(b"no text \xFF"), None);
    }

    #[test]
    fn native_names_are_taken_literally() {
        let native = |path: &str| {
            let native = native(&path.encode_utf16().collect::<Vec<_>>())?;
            Some(String::from_utf16(&native).unwrap())
        };
        assert_eq!(native(r"C:\a.\CON").as_deref(), Some(r"\??\C:\a.\CON"));
        assert_eq!(native(r"\\?\C:\a").as_deref(), Some(r"\??\C:\a"));
        assert_eq!(native(r"\\server\share\a").as_deref(), Some(r"\??\UNC\server\share\a"));
        assert_eq!(native(r"\\?\UNC\server\share").as_deref(), Some(r"\??\UNC\server\share"));
        assert_eq!(native(r"relative\a"), None);
    }
}
