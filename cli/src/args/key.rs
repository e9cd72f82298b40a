//! Key: commands about what opens the repository.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use copal_format::keys::slot::KEY_NAME_BYTES;

#[derive(Subcommand, Debug)]
pub enum Key {
    /// List what opens the repository: passphrases, key files, recovery codes.
    List,
    /// Add a passphrase or a key file.
    ///
    /// Asks for the new passphrase twice, unless an option says where it is.
    Add(Add),
    /// Remove a passphrase, key file or recovery code.
    ///
    /// The one that opens the repository this time cannot be removed: open it with another one, which shows that another
    /// one works. Nor can the last one.
    Remove(Remove),
    /// Replace the passphrase by a new one.
    ///
    /// The passphrase in use is replaced; if a key file or recovery code is in use, the only passphrase there is. Whoever knew the old one and copied the repository's keys/ can still open that copy.
    Change(Change),
    /// Make a new recovery code and print it, once. Earlier codes stay valid until "key remove".
    Recovery(Recovery),
    /// Keep what opens the repository in the keychain of the user's session, for --keychain.
    Keychain(Keychain),
}

#[derive(Args, Copy, Clone, Debug)]
pub struct Keychain {
    /// Delete it from the keychain instead.
    #[arg(long)]
    pub remove: bool,
}

#[derive(Args, Debug)]
pub struct Add {
    /// File that holds the passphrase to add.
    #[arg(long, value_name = "FILE", conflicts_with = "new_key_file")]
    pub new_password_file: Option<PathBuf>,
    /// Write a new key file here and add it; the file must not be there yet.
    #[arg(long, value_name = "FILE")]
    pub new_key_file: Option<PathBuf>,
    /// Name of the key, shown by "key list"; who cannot open the repository cannot read it.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, value_parser = key_name)]
    pub name: String,
}

#[derive(Args, Debug)]
pub struct Recovery {
    /// Name of the code, shown by "key list".
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, value_parser = key_name)]
    pub name: String,
}

fn key_name(text: &str) -> Result<String, String> {
    match text.len() <= KEY_NAME_BYTES {
        true => Ok(text.to_owned()),
        false => Err(format!("a name has at most {KEY_NAME_BYTES} bytes")),
    }
}

#[derive(Args, Debug)]
pub struct Remove {
    /// The key's name, or the first digits of its id, at least four, as "key list" shows them.
    #[arg(value_name = "KEY")]
    pub key: String,
}

#[derive(Args, Debug)]
pub struct Change {
    /// File that holds the new passphrase.
    #[arg(long, value_name = "FILE")]
    pub new_password_file: Option<PathBuf>,
}
