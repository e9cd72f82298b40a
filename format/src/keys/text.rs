//! Text: how 32 secret bytes are written on paper (recovery code) or in a file (key file).

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::keys::secret::Secret;
use crate::wire::record::label;

/// Why a text is not the expected recovery code or key file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum TextError {
    /// A character that is neither a digit of the encoding nor ignored.
    #[error("{form} has a character at position {position} that it cannot have")]
    Character {
        /// The form that was expected.
        form: &'static str,
        /// The character's position, from 1.
        position: usize,
    },
    /// The text does not start with the form's prefix.
    #[error("{form} must start with {prefix}")]
    Prefix { form: &'static str, prefix: &'static str },
    /// The text has the other form.
    #[error("this is a {actual}, not a {form}")]
    OtherForm { form: &'static str, actual: &'static str },
    /// Too few or too many characters.
    #[error("{form} has {actual} characters after {prefix}, not 56")]
    Length { form: &'static str, prefix: &'static str, actual: usize },
    /// The checksum does not match: a character is wrong, or two were swapped.
    #[error("{form} has a typing error: its checksum does not fit")]
    Checksum { form: &'static str },
}

/// Encodes 32 secret bytes as a recovery code.
pub fn encode_recovery(secret: &Secret) -> Zeroizing<String> {
    encode(&RECOVERY, secret)
}

/// Decodes a recovery code as typed.
pub fn decode_recovery(text: &str) -> Result<Secret, TextError> {
    decode(&RECOVERY, text)
}

/// Encodes 32 secret bytes as the content of a key file.
pub fn encode_key_file(secret: &Secret) -> Zeroizing<String> {
    let mut text = encode(&KEY_FILE, secret);
    text.push('\n');
    text
}

/// Decodes the content of a key file.
pub fn decode_key_file(text: &str) -> Result<Secret, TextError> {
    decode(&KEY_FILE, text)
}

/// One of the two forms. A text of one form is refused as the other.
struct Form {
    name: &'static str,
    prefix: &'static str,
    label: &'static str,
}

impl Form {
    fn checksum(&self, secret: &[u8]) -> [u8; CHECKSUM] {
        let digest = Sha256::new_with_prefix(label(self.label)).chain_update(secret).finalize();
        digest[..CHECKSUM].try_into().expect("3 of 32 bytes")
    }
}

fn encode(form: &Form, secret: &Secret) -> Zeroizing<String> {
    let mut bytes = Zeroizing::new([0; BYTES]);
    bytes[..32].copy_from_slice(secret.expose());
    bytes[32..].copy_from_slice(&form.checksum(secret.expose()));
    let mut text = Zeroizing::new(String::with_capacity(form.prefix.len() + CHARACTERS + CHARACTERS / GROUP + 1));
    text.push_str(form.prefix);
    for index in 0..CHARACTERS {
        if index % GROUP == 0 {
            text.push('-');
        }
        text.push(ALPHABET[five_bits(bytes.as_slice(), index)] as char);
    }
    text
}

fn decode(form: &Form, text: &str) -> Result<Secret, TextError> {
    let (all, wrong) = values(form, text);
    let (own, _) = values(form, form.prefix);
    if let Some(wrong) = wrong {
        // For any other text, the missing prefix is the better message.
        let is_begun = all.starts_with(&own) || own.starts_with(&all);
        return Err(if is_begun { wrong } else { wrong_start(form, &all) });
    }
    let digits = all.strip_prefix(&own[..]).ok_or_else(|| wrong_start(form, &all))?;
    if digits.len() != CHARACTERS {
        return Err(TextError::Length { form: form.name, prefix: form.prefix, actual: digits.len() });
    }
    let mut bytes = Zeroizing::new([0; BYTES]);
    for (five, digits) in bytes.chunks_exact_mut(5).zip(digits.chunks_exact(8)) {
        let word = digits.iter().fold(0, |word, &digit| word << 5 | u64::from(digit));
        five.copy_from_slice(&word.to_be_bytes()[3..]);
    }
    let (secret, checksum) = bytes.split_at(32);
    if form.checksum(secret) != checksum {
        return Err(TextError::Checksum { form: form.name });
    }
    Ok(Secret::new(secret.try_into().expect("32 bytes")))
}

fn wrong_start(form: &Form, all: &[u8]) -> TextError {
    let actual = [&RECOVERY, &KEY_FILE].into_iter().find(|other| all.starts_with(&values(other, other.prefix).0));
    match actual {
        Some(other) => TextError::OtherForm { form: form.name, actual: other.name },
        None => TextError::Prefix { form: form.name, prefix: form.prefix },
    }
}

/// The values of all characters that are not ignored, up to the first one that has none.
fn values(form: &Form, text: &str) -> (Zeroizing<Vec<u8>>, Option<TextError>) {
    let mut values = Zeroizing::new(Vec::with_capacity(text.len()));
    for (index, character) in text.chars().enumerate() {
        let value = match character.to_ascii_uppercase() {
            '-' | '\u{2010}'..='\u{2015}' | '_' | ' ' | '\u{a0}' | '\t' | '\r' | '\n' => continue,
            'I' | 'L' => Some(1),
            'O' => Some(0),
            upper => ALPHABET.iter().position(|&known| known as char == upper),
        };
        let Some(value) = value else {
            return (values, Some(TextError::Character { form: form.name, position: index + 1 }));
        };
        values.push(value as u8);
    }
    (values, None)
}

/// The five bits at an index, most significant first.
pub(crate) fn five_bits(bytes: &[u8], index: usize) -> usize {
    let at = index * 5 / 8;
    let next = bytes.get(at + 1).copied().unwrap_or(0);
    let pair = u16::from_be_bytes([bytes[at], next]);
    usize::from(pair >> (11 - index * 5 % 8) & 0x1f)
}

const RECOVERY: Form = Form { name: "recovery code", prefix: "copal-recovery-1", label: "recovery" };
const KEY_FILE: Form = Form { name: "key file", prefix: "copal-key-1", label: "key-file" };
/// Crockford's base 32.
pub(crate) const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CHECKSUM: usize = 3;
const BYTES: usize = 35;
const CHARACTERS: usize = 56;
const GROUP: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secret() -> Secret {
        Secret::new(core::array::from_fn(|i| i as u8 * 7 + 1))
    }

    #[test]
    fn case_spaces_hyphens_and_look_alikes_do_not_matter() {
        let code = encode_recovery(&secret());
        let typed = code.replace('-', " ").replace('1', "l").replace('0', "o").to_lowercase();
        assert_ne!(typed, *code);
        assert_eq!(decode_recovery(&format!("  {typed}\r\n")), Ok(secret()));
        assert_eq!(decode_recovery(&code.replace('-', "").replace('1', "I")), Ok(secret()));
        assert_eq!(decode_recovery(&code.replace('-', "\u{2013}")), Ok(secret()), "as a word processor writes it");
    }

    #[test]
    fn any_wrong_character_is_noticed() {
        let code = encode_recovery(&secret());
        for (at, character) in code.char_indices().skip(RECOVERY.prefix.len()).filter(|&(_, c)| c != '-') {
            let other = if character == '7' { "8" } else { "7" };
            let mut typed = code.to_string();
            typed.replace_range(at..=at, other);
            assert_eq!(decode_recovery(&typed), Err(TextError::Checksum { form: "recovery code" }), "at {at}");
        }
    }

    #[test]
    fn a_key_file_is_one_line_and_is_not_taken_for_a_recovery_code() {
        let file = encode_key_file(&secret());
        assert!(file.ends_with('\n') && file.lines().count() == 1);
        assert_eq!(decode_key_file(&file), Ok(secret()));
        let other = TextError::OtherForm { form: "recovery code", actual: "key file" };
        assert_eq!(decode_recovery(&file), Err(other));
    }

    #[test]
    fn what_is_wrong_with_a_text_is_told() {
        let code = encode_recovery(&secret());
        let form = "recovery code";
        let prefix = RECOVERY.prefix;
        assert_eq!(decode_recovery("hello"), Err(TextError::Prefix { form, prefix }));
        assert_eq!(decode_recovery("copal!"), Err(TextError::Character { form, position: 6 }));
        assert_eq!(decode_recovery("Dear Ada,"), Err(TextError::Prefix { form, prefix }));
        let short = &code[..code.len() - 1];
        assert_eq!(decode_recovery(short), Err(TextError::Length { form, prefix, actual: 55 }));
    }

    proptest! {
        #[test]
        fn every_secret_reads_back(bytes: [u8; 32]) {
            let secret = Secret::new(bytes);
            prop_assert_eq!(decode_recovery(&encode_recovery(&secret)), Ok(secret.clone()));
            prop_assert_eq!(decode_key_file(&encode_key_file(&secret)), Ok(secret));
        }
    }
}
