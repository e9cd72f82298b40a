//! Marking: forgets, brings back, pins and tags snapshots, for JavaScript.

use copal_engine::changing::Mark;
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::changes::{Changes, link_of};
use super::clients::Client;
use super::convert::{Thrown, hex, list, snapshots, wrong};
use super::look::Library;

#[wasm_bindgen]
impl Library {
    #[wasm_bindgen(js_name = listForgotten)]
    pub fn list_forgotten(&mut self) {
        self.0.list_forgotten();
    }

    #[wasm_bindgen(getter, js_name = needsTags)]
    pub fn needs_tags(&self) -> bool {
        self.0.needs_tags()
    }

    #[wasm_bindgen(js_name = supplyChange)]
    pub fn supply_change(&mut self, key: &str, bytes: &[u8]) -> bool {
        self.0.supply_change(key, bytes)
    }

    pub fn mark(
        &self,
        client: &Client,
        #[wasm_bindgen(unchecked_param_type = "Link | null")] met: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "Mark")] mark: &str,
        ids: Vec<String>,
    ) -> Thrown<Option<Changes>> {
        let mark = match mark {
            "forget" => Mark::Forget,
            "undelete" => Mark::Undelete,
            "pin" => Mark::Pin,
            "unpin" => Mark::Unpin,
            _ => return Err(wrong("mark", "one of four")),
        };
        Ok(self.0.mark(&client.0, link_of(met)?, mark, &snapshots(&ids)?)?.map(Changes))
    }

    pub fn tag(
        &self,
        client: &Client,
        #[wasm_bindgen(unchecked_param_type = "Link | null")] met: &JsValue,
        ids: Vec<String>,
        add: Vec<String>,
        remove: Vec<String>,
    ) -> Thrown<Option<Changes>> {
        Ok(self.0.tag(&client.0, link_of(met)?, &snapshots(&ids)?, &add, &remove)?.map(Changes))
    }

    /// By domain: the ids of tags with these names.
    #[wasm_bindgen(js_name = tagIds, unchecked_return_type = "string[][]")]
    pub fn tag_ids(&self, names: Vec<String>) -> Array {
        list(self.0.tag_ids(&names).into_iter().map(|ids| list(ids.into_iter().map(hex))))
    }

    /// The names of tags that changes have.
    #[wasm_bindgen(js_name = tagNames)]
    pub fn tag_names(&self) -> Vec<String> {
        self.0.tag_names().cloned().collect()
    }

    pub fn decide(
        &self,
        client: &Client,
        #[wasm_bindgen(unchecked_param_type = "Link | null")] met: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] policy: Option<Vec<u8>>,
        tags: Vec<String>,
        release: Vec<String>,
    ) -> Thrown<Option<Changes>> {
        Ok(self.0.decide(&client.0, link_of(met)?, (policy, &tags), snapshots(&release)?)?.map(Changes))
    }
}
