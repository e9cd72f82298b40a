//! Keeping: the policy in force, and what other rules would do to the snapshots, for JavaScript.

use core::time::Duration;

use copal_engine::retention::{Held, KeepReason, Protection, Series, Suspicion, Weighed};
use copal_format::id::TagId;
use copal_format::policy::{Count, Floor, Hold, Lingering, Period, SignedPolicy, Span, effective};
use copal_format::repository::Descriptor;
use js_sys::{Array, Object, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::convert::{
    Thrown, count, field, hex, list, milliseconds, number_field, numbers_field, object, optional, reads, set,
    snapshots, time, wrong,
};
use crate::fault::Fault;
use crate::keeping::{self, Foresight, Rules};

#[wasm_bindgen]
pub struct Keeping(keeping::Keeping);

#[wasm_bindgen]
impl Keeping {
    #[wasm_bindgen(constructor)]
    pub fn new(
        version: f64,
        descriptor: &[u8],
        #[wasm_bindgen(unchecked_param_type = "string | null")] root: Option<String>,
    ) -> Thrown<Keeping> {
        let descriptor = Descriptor::decode(version as u64, descriptor).map_err(Fault::from)?;
        Ok(Self(keeping::Keeping::new(&descriptor, root.as_deref())?))
    }

    #[wasm_bindgen(unchecked_return_type = "Read[]")]
    pub fn needs(&self) -> Array {
        reads(&self.0.needs())
    }

    pub fn supply(
        &mut self,
        key: &str,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] bytes: Option<Vec<u8>>,
    ) -> Thrown<()> {
        Ok(self.0.supply(key, bytes)?)
    }

    /// The number of the root.
    #[wasm_bindgen(getter)]
    pub fn root(&self) -> Option<f64> {
        self.0.root().map(|root| count(root.number))
    }

    /// The number of the newest change that the root has taken in; 0 if there is none.
    #[wasm_bindgen(getter)]
    pub fn head(&self) -> f64 {
        count(self.0.root().and_then(|root| root.change_head).map_or(0, |(number, _)| number))
    }

    /// The snapshots that are kept.
    #[wasm_bindgen(getter)]
    pub fn kept(&self) -> f64 {
        count(self.0.kept())
    }

    #[wasm_bindgen(getter, js_name = policyName)]
    pub fn policy_name(&self) -> Option<String> {
        self.0.policy_name()
    }

    #[wasm_bindgen(js_name = supplyPolicy)]
    pub fn supply_policy(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | null")] change: Option<Vec<u8>>,
    ) -> Thrown<()> {
        Ok(self.0.supply_policy(change.as_deref())?)
    }

    #[wasm_bindgen(unchecked_return_type = "PolicyFacts | null")]
    pub fn policy(&self) -> Thrown<JsValue> {
        let change = self.0.change().map(count);
        Ok(optional(self.0.policy()?.map(|policy| {
            let facts = policy_facts(policy);
            set(&facts, "change", optional(change));
            facts
        })))
    }

    #[wasm_bindgen(unchecked_return_type = "LingersFacts | null")]
    pub fn lingers(&self, now: f64) -> JsValue {
        lingers(self.0.lingers(time(now)))
    }

    #[wasm_bindgen(unchecked_return_type = "HeldFacts[]")]
    pub fn held(&self, now: f64) -> Thrown<Array> {
        Ok(list(self.0.held(time(now))?.iter().map(held)))
    }

    #[wasm_bindgen(unchecked_return_type = "Guard")]
    pub fn guard(&self, ids: Vec<String>, now: f64) -> Thrown<Object> {
        let guard = self.0.guard(&snapshots(&ids)?, time(now))?;
        let stays = guard.stays.iter().map(|(id, by)| {
            let object = protection(*by);
            set(&object, "id", hex(id));
            object
        });
        Ok(object! { "grace": optional(guard.grace.map(seconds)), "stays": list(stays) })
    }

    #[wasm_bindgen(unchecked_return_type = "ForesightFacts & { policy: Uint8Array<ArrayBuffer> }")]
    pub fn foresee(
        &self,
        #[wasm_bindgen(unchecked_param_type = "RulesFacts")] rules: &JsValue,
        now: f64,
    ) -> Thrown<Object> {
        let policy = self.0.with(&rules_of(rules)?)?;
        let object = foresight(&self.0.foresee(&policy, time(now))?);
        set(&object, "policy", Uint8Array::from(policy.encode().as_slice()));
        Ok(object)
    }

    #[wasm_bindgen(js_name = foreseeRelease, unchecked_return_type = "ForesightFacts")]
    pub fn foresee_release(&self, ids: Vec<String>, now: f64) -> Thrown<Object> {
        Ok(foresight(&self.0.foresee_release(&snapshots(&ids)?, time(now))?))
    }

    /// The ids of the tags of all snapshots, in the order in which a library names them.
    #[wasm_bindgen(js_name = tagIds, unchecked_return_type = "{ id: string; tags: string[] }[]")]
    pub fn tag_ids(&self) -> Array {
        let tagged = self.0.snapshots().into_iter().filter(|(_, record)| !record.tags.is_empty());
        list(tagged.map(|(_, record)| object! { "id": hex(record.id), "tags": list(record.tags.iter().map(hex)) }))
    }
}

fn rules_of(facts: &JsValue) -> Thrown<Rules> {
    let counts = numbers_field(facts, "counts")?;
    let within = field(facts, "within").as_string();
    let age = Duration::from_secs(number_field(facts, "floorAge")? as u64);
    let mut rules = Rules {
        within: within.map(|text| Span::parse(&text)).transpose().map_err(Fault::from)?,
        floor: Floor { last: number_field(facts, "floorLast")? as u32, age },
        tags: given(facts, "tags").map(|sets| tags_of(&sets)).transpose()?,
        hold: given(facts, "hold").map(|hold| hold_of(&hold)).transpose()?,
        grace: field(facts, "grace").as_f64().map(|grace| Duration::from_secs(grace as u64)),
        zone: field(facts, "zone").as_string(),
        ..Rules::default()
    };
    if counts.len() != rules.counts.len() {
        return Err(wrong("counts", "one for each period"));
    }
    for (to, from) in rules.counts.iter_mut().zip(counts) {
        let number = || if from.is_infinite() { Count::All } else { Count::N(from as u32) };
        *to = (from >= 0.0).then(number);
    }
    Ok(rules)
}

/// A property that is not undefined.
fn given(facts: &JsValue, name: &str) -> Option<JsValue> {
    Some(field(facts, name)).filter(|value| !value.is_undefined())
}

fn tags_of(sets: &JsValue) -> Thrown<Vec<Vec<TagId>>> {
    let tag = |tag: JsValue| TagId::from_hex(&tag.as_string().unwrap_or_default()).map_err(|_| wrong("tags", "ids"));
    Array::from(sets).iter().map(|set| Array::from(&set).iter().map(tag).collect()).collect()
}

fn hold_of(hold: &JsValue) -> Thrown<Option<Hold>> {
    if hold.is_null() {
        return Ok(None);
    }
    let share = number_field(hold, "share")? as u8;
    Ok(Some(Hold { share, least: number_field(hold, "least")? as u64 }))
}

fn policy_facts(policy: &SignedPolicy) -> Object {
    let rules = policy.rules();
    let number = |count: Count| match count {
        Count::N(number) => f64::from(number),
        Count::All => f64::INFINITY,
    };
    let counts = rules.counts.iter().map(|count| count.map_or(-1.0, number));
    let spans = rules.spans.iter().map(|span| optional(effective(*span).map(hex)));
    object! {
        "counts": list(counts),
        "spans": list(spans),
        "dayFloor": optional(effective(rules.floor).map(hex)),
        "tags": list(rules.tags.iter().map(|set| list(set.iter().map(hex)))),
        "zone": policy.zone(),
        "grace": seconds(policy.grace()),
        "checkParts": policy.check_parts(),
        "floorLast": policy.floor().last,
        "floorAge": seconds(policy.floor().age),
        "hold": hold(policy.hold()),
    }
}

fn hold(hold: Option<Hold>) -> JsValue {
    optional(hold.map(|hold| object! { "share": hold.share, "least": count(hold.least) }))
}

fn lingers(lingering: Option<Lingering>) -> JsValue {
    optional(lingering.map(|lingering| {
        object! {
            "until": milliseconds(lingering.until),
            "floorLast": lingering.floor.last,
            "floorAge": seconds(lingering.floor.age),
            "hold": hold(lingering.hold),
        }
    }))
}

fn foresight(foresight: &Foresight) -> Object {
    let weighed = foresight.weighed.iter().map(|weighed| {
        let object = weighed_facts(weighed);
        set(&object, "goesLater", foresight.later.contains(&weighed.verdict.id));
        object
    });
    object! {
        "snapshots": list(weighed),
        "freed": list(foresight.freed.iter().map(hex)),
        "held": list(foresight.held.iter().map(held)),
        "lingers": lingers(foresight.lingers),
    }
}

fn weighed_facts(weighed: &Weighed) -> Object {
    object! {
        "id": hex(weighed.verdict.id),
        "series": series(weighed.series),
        "time": milliseconds(weighed.time),
        "goes": weighed.expires(),
        "reasons": list(weighed.verdict.reasons.iter().map(reason)),
        "protection": optional(weighed.protection.map(protection)),
    }
}

fn reason(reason: &KeepReason) -> Object {
    let (kind, period, nth, span): (_, Option<Period>, Option<u32>, Option<Span>) = match *reason {
        KeepReason::NoRule => ("no-rule", None, None, None),
        KeepReason::Pinned => ("pinned", None, None, None),
        KeepReason::Tagged => ("tagged", None, None, None),
        KeepReason::Within(span) => ("within", None, None, Some(span)),
        KeepReason::Counted(period, nth) => ("counted", Some(period), Some(nth), None),
        KeepReason::Oldest(period) => ("oldest", Some(period), None, None),
        KeepReason::CountedWithin(period, span) => ("counted-within", Some(period), None, Some(span)),
        KeepReason::FloorNewest | KeepReason::FloorOldest => ("day-floor", None, None, None),
    };
    object! { "kind": kind, "period": optional(period.map(hex)), "nth": optional(nth), "span": optional(span.map(hex)) }
}

fn protection(protection: Protection) -> Object {
    let (by, until) = match protection {
        Protection::Held => ("hold", None),
        Protection::Last => ("last", None),
        Protection::Young { until } => ("young", Some(milliseconds(until))),
    };
    object! { "by": by, "until": optional(until) }
}

fn held(held: &Held) -> Object {
    let (kind, before, now) = match held.why {
        Suspicion::Entries { before, now } => ("entries", before, now),
        Suspicion::Bytes { before, now } => ("bytes", before, now),
        Suspicion::Rewritten { before, stored } => ("rewritten", before, stored),
    };
    object! {
        "id": hex(held.snapshot),
        "series": series(held.series),
        "accepted": milliseconds(held.accepted),
        "why": object! { "kind": kind, "before": count(before), "now": count(now) },
    }
}

fn series(series: Series) -> String {
    format!("{}/{}", series.client, series.source)
}

fn seconds(time: Duration) -> f64 {
    count(time.as_secs())
}
