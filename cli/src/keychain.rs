//! Keychain: passphrases in the keychain of the user's session, by the Secret Service of D-Bus (GNOME Keyring, KWallet,
//! KeePassXC). Only in a program that is built with the feature `keychain`.

#[derive(Debug, thiserror::Error)]
pub enum KeychainError {
    #[cfg(not(feature = "keychain"))]
    #[error("this copal was built without the keychain (cargo's feature \"keychain\")")]
    NotBuilt,
    #[cfg(feature = "keychain")]
    #[error("the keychain cannot be used: {0}")]
    Failed(String),
}

#[cfg(not(feature = "keychain"))]
mod place {
    use zeroize::Zeroizing;

    use super::KeychainError;

    pub fn find(_: &str) -> Result<Option<Zeroizing<Vec<u8>>>, KeychainError> {
        Err(KeychainError::NotBuilt)
    }

    pub fn add(_: &str, _: &str) -> Result<(), KeychainError> {
        Err(KeychainError::NotBuilt)
    }

    pub fn remove(_: &str) -> Result<bool, KeychainError> {
        Err(KeychainError::NotBuilt)
    }
}

#[cfg(feature = "keychain")]
mod place {
    use std::collections::HashMap;

    use secret_service::blocking::{Item, SecretService};
    use secret_service::{EncryptionType, Error};
    use zeroize::Zeroizing;

    use super::KeychainError;

    /// The secret of the repository at an address.
    pub fn find(address: &str) -> Result<Option<Zeroizing<Vec<u8>>>, KeychainError> {
        each(address, |item| Ok(Zeroizing::new(item.get_secret()?))).map(|mut found| found.pop())
    }

    /// Keeps the secret of the repository at an address.
    pub fn add(address: &str, secret: &str) -> Result<(), KeychainError> {
        let add = || {
            let service = SecretService::connect(EncryptionType::Dh)?;
            let collection = service.get_default_collection()?;
            collection.ensure_unlocked().or_else(|_| collection.unlock())?;
            let label = format!("copal: {address}");
            collection.create_item(&label, attributes(address), secret.as_bytes(), true, "text/plain").map(drop)
        };
        add().map_err(failed)
    }

    /// Deletes the secret of the repository at an address. False if there is none.
    pub fn remove(address: &str) -> Result<bool, KeychainError> {
        each(address, |item| item.delete()).map(|deleted| !deleted.is_empty())
    }

    /// Does something with each item of an address, unlocked.
    fn each<T>(address: &str, act: impl Fn(&Item<'_>) -> Result<T, Error>) -> Result<Vec<T>, KeychainError> {
        let all = || {
            let service = SecretService::connect(EncryptionType::Dh)?;
            let found = service.search_items(attributes(address))?;
            found.locked.iter().try_for_each(Item::unlock)?;
            found.unlocked.iter().chain(&found.locked).map(act).collect::<Result<_, _>>()
        };
        all().map_err(failed)
    }

    fn attributes(address: &str) -> HashMap<&str, &str> {
        HashMap::from([("application", "copal"), ("repository", address)])
    }

    fn failed(error: Error) -> KeychainError {
        KeychainError::Failed(match error {
            Error::Unavailable => "no keychain runs in this session".into(),
            Error::Locked | Error::Prompt | Error::PromptDisconnected => "it is locked".into(),
            other => other.to_string(),
        })
    }
}

pub use place::{add, find, remove};
