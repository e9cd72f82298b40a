//! Comparison: what of two listings is compared.

use serde_json::{Value, json};

/// What can be compared: only root makes devices and gives files away.
pub(crate) fn comparable(entries: &[Value]) -> Vec<Value> {
    let mut entries: Vec<Value> = entries.to_vec();
    if !is_root() {
        entries.retain(|entry| entry["rdev"].is_null());
        for entry in &mut entries {
            ["uid", "gid"].iter().for_each(|field| entry[*field] = Value::Null);
            entry["mode"] = json!(entry["mode"].as_u64().unwrap() & 0o777);
            entry["xattrs"].as_object_mut().unwrap().retain(|name, _| !name.starts_with("trusted."));
        }
    }
    // The numbers of users are compared: their names differ from one machine to the next.
    for entry in &mut entries {
        (entry["user"], entry["group"]) = (Value::Null, Value::Null);
    }
    entries
}

/// What a plain `tar -xp` brings back, without modes.
pub(crate) fn plain(entry: &Value) -> Vec<Value> {
    let fields = ["path", "type", "size", "sha256", "link_target", "mtime_ns", "hardlink_group"];
    fields.map(|field| entry[field].clone()).to_vec()
}

/// Reads a golden file. Escapes of bytes that are no UTF-8 become the words `\udcxx`, as the listing has them.
pub(crate) fn read(text: &str) -> Vec<Value> {
    serde_json::from_str(&text.replace(r"\udc", r"\\udc")).expect("a golden file is JSON")
}

/// Whether this process may do everything.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
