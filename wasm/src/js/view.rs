//! View: the repository's state and index, for JavaScript.

use std::cell::RefCell;
use std::rc::Rc;

use copal_engine::retention;
use copal_format::id::{ClientId, DomainId};
use copal_format::order;
use copal_format::receipt::Outcome;
use copal_format::state::SnapshotState;
use js_sys::{Array, Object};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::changes::link;
use super::convert::{Thrown, count, hex, list, milliseconds, object, optional, reads};
use crate::fault::Fault;
use crate::view;

#[wasm_bindgen]
pub struct View(pub(super) Rc<RefCell<view::View>>);

#[wasm_bindgen]
impl View {
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "string | null")] root_key: Option<String>,
        domains: Vec<String>,
    ) -> Thrown<View> {
        let domains = domains.iter().map(|domain| DomainId::from_hex(domain)).collect::<Result<_, _>>();
        let domains = domains.map_err(Fault::from)?;
        Ok(Self(Rc::new(RefCell::new(view::View::new(root_key.as_deref(), domains)?))))
    }

    #[wasm_bindgen(unchecked_return_type = "Read[]")]
    pub fn needs(&self) -> Array {
        reads(&self.0.borrow().needs())
    }

    pub fn supply(
        &self,
        key: &str,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] bytes: Option<Vec<u8>>,
    ) -> Thrown<()> {
        Ok(self.0.borrow_mut().supply(key, bytes)?)
    }

    pub fn newer(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string | null")] root_key: Option<String>,
    ) -> Thrown<Option<View>> {
        Ok(self.0.borrow().newer(root_key.as_deref())?.map(|newer| View(Rc::new(RefCell::new(newer)))))
    }

    pub fn replace(&self, newer: &View) -> bool {
        self.0.borrow_mut().replace(&mut newer.0.borrow_mut())
    }

    pub fn want(&self, domain: &str) -> Thrown<()> {
        self.0.borrow_mut().want(DomainId::from_hex(domain).map_err(Fault::from)?);
        Ok(())
    }

    #[wasm_bindgen(getter, js_name = isComplete)]
    pub fn is_complete(&self) -> bool {
        self.0.borrow().is_complete()
    }

    #[wasm_bindgen(getter, unchecked_return_type = "{ number: number; time: number; change: Link | null } | null")]
    pub fn root(&self) -> JsValue {
        let view = self.0.borrow();
        optional(view.root().map(|root| {
            let change = optional(root.change_head.map(link));
            object! { "number": count(root.number), "time": milliseconds(root.time), "change": change }
        }))
    }

    /// How far a client's manifests are decided, and the last accepted one, if the state still has it.
    #[wasm_bindgen(unchecked_return_type = "{ number: number; time: number; accepted: Link | null } | null")]
    pub fn head(&self, client: &str) -> Thrown<JsValue> {
        let client = ClientId::from_hex(client).map_err(Fault::from)?;
        let view = self.0.borrow();
        let head = view.state().and_then(|state| state.heads.get(&client));
        Ok(optional(head.map(|head| {
            let accepted = head.decisions.iter().rfind(|decision| decision.outcome == Outcome::Accepted);
            let accepted = optional(accepted.map(|decision| link((decision.number, decision.hash))));
            object! { "number": count(head.number), "time": milliseconds(head.time), "accepted": accepted }
        })))
    }

    #[wasm_bindgen(unchecked_return_type = "Statistics")]
    pub fn statistics(&self) -> Object {
        let sums = self.0.borrow().statistics();
        let growth =
            sums.growth.iter().map(|day| object! { "time": milliseconds(day.time), "bytes": count(day.bytes) });
        let checked = object! {
            "oldest": optional(sums.checked.map(|(oldest, ..)| milliseconds(oldest))),
            "newest": optional(sums.checked.map(|(_, newest, _)| milliseconds(newest))),
            "packs": count(sums.checked.map_or(0, |(.., packs)| packs)),
        };
        object! {
            "packs": count(sums.packs),
            "dataBytes": count(sums.data_bytes),
            "treeBytes": count(sums.tree_bytes),
            "missing": count(sums.missing),
            "damaged": count(sums.damaged),
            "segments": count(sums.segments),
            "indexEntries": count(sums.entries),
            "growth": list(growth),
            "checked": checked,
        }
    }

    #[wasm_bindgen(unchecked_return_type = "SnapshotState[]")]
    pub fn snapshots(&self) -> Array {
        let view = self.0.borrow();
        let mut all: Vec<_> = view.state().into_iter().flat_map(|state| &state.snapshots).collect();
        order::sort_by(&mut all, |a, b| retention::age(b.1).cmp(&retention::age(a.1)));
        list(all.into_iter().map(|((client, number), record)| {
            let state = match record.state {
                SnapshotState::Kept => "kept",
                SnapshotState::Forgotten => "forgotten",
                SnapshotState::Gone => "gone",
            };
            object! {
                "id": hex(record.id),
                "client": hex(client),
                "number": count(*number),
                "domain": hex(record.domain),
                "source": hex(record.source),
                "partial": record.partial,
                "time": milliseconds(record.client_time),
                "accepted": milliseconds(record.accepted),
                "state": state,
                "pinned": record.pinned,
            }
        }))
    }
}
