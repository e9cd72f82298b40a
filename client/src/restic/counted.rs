//! Counted: a list in JSON that is refused as soon as it is too long: many short elements take far more memory than
//! their text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// A list of at most `MOST` elements.
pub(super) struct Counted<T, const MOST: usize>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Counted<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Self(Vec::new()))
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Counted<T, MOST> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MOST} elements")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<Self, A::Error> {
        while let Some(element) = elements.next_element()? {
            if self.0.len() == MOST {
                return Err(Error::custom(format_args!("a list in it has more than {MOST} elements")));
            }
            self.0.push(element);
        }
        Ok(self)
    }
}
