//! Page: a directory of the tree of snapshots as a web page.

use copal_client::browse::Attributes;
use copal_format::tree::EntryKind;

use crate::report::human;

/// The page of a directory: a link to each name, those of directories first.
pub(super) fn page(directory: &[u8], mut names: Vec<(Vec<u8>, Attributes)>, is_complete: bool) -> String {
    let is_directory = |of: &Attributes| of.kind == EntryKind::Directory;
    names.sort_by(|(a, of_a), (b, of_b)| is_directory(of_b).cmp(&is_directory(of_a)).then_with(|| a.cmp(b)));
    let title = escaped(&human::path(directory));
    let mut page = format!("<!DOCTYPE html>\n<title>{title}</title>\n<h1>{title}</h1>\n");
    if !is_complete {
        page.push_str("<p>Some entries cannot be read. They are missing here.</p>\n");
    }
    page.push_str("<table>\n");
    if directory != b"/" {
        page.push_str("<tr><td><a href=\"..\">..</a></td></tr>\n");
    }
    for (name, of) in &names {
        let (end, size) = if is_directory(of) { ("/", String::new()) } else { ("", human::size(of.size)) };
        let (link, text, time) = (encoded(name), escaped(&human::path(name)), human::time(of.mtime));
        let row = format!("<tr><td><a href=\"{link}{end}\">{text}{end}</a></td><td>{time}</td><td>{size}</td></tr>\n");
        page.push_str(&row);
    }
    page.push_str("</table>\n");
    page
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A name as a relative address.
fn encoded(name: &[u8]) -> String {
    let letter = |&byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.iter().map(letter).collect()
}
