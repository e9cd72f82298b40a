//! Inviting: the line, the link and the QR code with which another device joins, for JavaScript.

use copal_format::client::Role;
use js_sys::{Object, Uint8Array};
use qrcode::types::Color;
use qrcode::{EcLevel, QrCode};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use zeroize::Zeroizing;

use super::convert::{Thrown, exact, hex, milliseconds, number_field, object, record, text_field, time, wrong};
use super::owner::{Descriptor, Owner};
use crate::invitation::Wanted;

#[wasm_bindgen]
impl Owner {
    #[wasm_bindgen(unchecked_return_type = "Waiting")]
    pub fn invite(
        &self,
        descriptor: &Descriptor,
        #[wasm_bindgen(unchecked_param_type = "Wanted")] wanted: &JsValue,
        random: &[u8],
    ) -> Thrown<Object> {
        let (name, page) = (text_field(wanted, "name")?, text_field(wanted, "page")?);
        let role = match text_field(wanted, "role")?.as_str() {
            "full" => Role::Full,
            "write-only" => Role::WriteOnly,
            _ => return Err(wrong("role", "one of two")),
        };
        let random = Zeroizing::new(exact(random, "random")?);
        let (now, expires) = (time(number_field(wanted, "now")?), time(number_field(wanted, "expires")?));
        let wanted = Wanted { name: &name, role, now, expires, page: &page };
        let waiting = self.0.invite(&descriptor.0, &wanted, &random)?;
        Ok(object! {
            "client": hex(waiting.client),
            "record": record(waiting.record.keys, &waiting.record.bytes),
            "line": waiting.line.as_str(),
            "link": waiting.link.as_str(),
            "expires": milliseconds(waiting.expires),
            "picture": picture(&waiting.link)?,
        })
    }
}

/// The rows of a QR code, one after the other: 1 is dark.
fn picture(text: &str) -> Thrown<Object> {
    // Low error correction, as in the command: a screen is not torn, and a smaller code is readable from afar.
    let code = QrCode::with_error_correction_level(text.as_bytes(), EcLevel::L)
        .map_err(|_| wrong("the link", "short enough for a QR code"))?;
    let dark: Zeroizing<Vec<u8>> =
        Zeroizing::new(code.to_colors().iter().map(|c| u8::from(*c == Color::Dark)).collect());
    Ok(object! { "width": code.width() as u32, "dark": Uint8Array::from(dark.as_slice()) })
}
