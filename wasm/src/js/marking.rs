//! Marking: forgets, brings back, pins and tags snapshots, for JavaScript.

use copal_engine::changing::Mark;
use copal_engine::retention::Protection;
use copal_format::id::SnapshotId;
use js_sys::Object;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::changes::{Changes, link_of};
use super::clients::Client;
use super::convert::{Thrown, count, hex, list, milliseconds, object, optional, time, wrong};
use super::look::Library;
use crate::fault::Fault;

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

    #[wasm_bindgen(getter, js_name = policyName)]
    pub fn policy_name(&self) -> Option<String> {
        self.0.policy_name()
    }

    #[wasm_bindgen(unchecked_return_type = "Guard")]
    pub fn guard(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] change: Option<Vec<u8>>,
        ids: Vec<String>,
        now: f64,
    ) -> Thrown<Object> {
        let guard = self.0.guard(change.as_deref(), &snapshots(&ids)?, time(now))?;
        let stays = guard.stays.iter().map(|(id, protection)| {
            let (by, until) = match protection {
                Protection::Held => ("hold", None),
                Protection::Last => ("last", None),
                Protection::Young { until } => ("young", Some(milliseconds(*until))),
            };
            object! { "id": hex(id), "by": by, "until": optional(until) }
        });
        Ok(object! { "grace": optional(guard.grace.map(|grace| count(grace.as_secs()))), "stays": list(stays) })
    }
}

fn snapshots(ids: &[String]) -> Result<Vec<SnapshotId>, Fault> {
    ids.iter().map(|id| Ok(SnapshotId::from_hex(id)?)).collect()
}
