//! Exclusions: what a backup was told to leave out. Its snapshot records them, so that a restore that deletes can spare
//! what was never saved.

use serde::Serialize;

use crate::limits::{EXCLUSION_MARKERS, EXCLUSION_PATTERNS, EXCLUSIONS_BYTES, TEXT_BYTES};
use crate::order;
use crate::shown;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};

/// The options of a backup that leave something out.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Exclusions {
    /// Patterns in the syntax of gitignore, in their order: the last one that matches a path decides.
    pub patterns: Vec<Pattern>,
    /// Names of files, ascending, each once. The run may have left out anything in a directory that holds one.
    #[serde(serialize_with = "shown::paths")]
    pub markers: Vec<Vec<u8>>,
    /// Files with more bytes than this were left out.
    pub larger_than: Option<u64>,
    /// True if mount points were saved without their content.
    pub one_file_system: bool,
    /// True if more was left out than this record says: a complete record would be too large, or nobody can tell.
    pub is_cut: bool,
}

/// A pattern for paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pattern {
    /// The pattern as given.
    pub text: String,
    /// True if upper and lower case are the same to it.
    pub any_case: bool,
}

impl Exclusions {
    /// The exclusions as a snapshot records them: sorted, none if nothing was left out, and cut if they are too large.
    pub fn recorded(mut self) -> Option<Self> {
        order::sort(&mut self.markers);
        self.markers.dedup();
        match self.is_within_limits() {
            _ if self == Self::default() => None,
            true => Some(self),
            false => Some(Self { is_cut: true, ..Self::default() }),
        }
    }

    /// True if readers accept the record.
    pub(crate) fn is_within_limits(&self) -> bool {
        let mut writer = Writer::new();
        self.encode(&mut writer);
        let mut texts = self.patterns.iter().map(|of| of.text.len()).chain(self.markers.iter().map(Vec::len));
        self.patterns.len() <= EXCLUSION_PATTERNS
            && self.markers.len() <= EXCLUSION_MARKERS
            && texts.all(|length| length <= TEXT_BYTES)
            && writer.finish().len() <= EXCLUSIONS_BYTES
    }

    pub(crate) fn encode(&self, writer: &mut Writer) {
        writer.map(4 + u64::from(self.larger_than.is_some())).key(0).array(self.patterns.len());
        for pattern in &self.patterns {
            writer.array(2).bool(pattern.any_case).text(&pattern.text);
        }
        writer.key(1).byte_strings(&self.markers);
        if let Some(most) = self.larger_than {
            writer.key(2).uint(most);
        }
        writer.key(3).bool(self.one_file_system).key(4).bool(self.is_cut);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (start, error) = (reader.offset(), reader.error("exclusions are too large or out of order"));
        let exclusions = reader.fields(|fields| {
            Ok(Self {
                patterns: fields.required(0)?.list(EXCLUSION_PATTERNS, |pattern| {
                    pattern.tuple(2)?;
                    Ok(Pattern { any_case: pattern.bool()?, text: pattern.text(TEXT_BYTES)?.to_owned() })
                })?,
                markers: fields.required(1)?.list(EXCLUSION_MARKERS, |name| Ok(name.bytes(TEXT_BYTES)?.to_vec()))?,
                larger_than: fields.optional(2)?.map(Reader::wide).transpose()?,
                one_file_system: fields.required(3)?.bool()?,
                is_cut: fields.required(4)?.bool()?,
            })
        })?;
        let is_ascending = exclusions.markers.is_sorted_by(|a, b| a < b);
        if is_ascending && reader.offset() - start <= EXCLUSIONS_BYTES { Ok(exclusions) } else { Err(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(count: usize, length: usize) -> Exclusions {
        let pattern = Pattern { text: "x".repeat(length), any_case: false };
        Exclusions { patterns: vec![pattern; count], ..Exclusions::default() }
    }

    fn read(exclusions: &Exclusions) -> Result<Exclusions, DecodeError> {
        let mut writer = Writer::new();
        exclusions.encode(&mut writer);
        Exclusions::decode(&mut Reader::new(&writer.finish())?)
    }

    #[test]
    fn what_readers_would_refuse_is_recorded_as_cut() {
        assert_eq!(Exclusions::default().recorded(), None);
        for (count, length) in [(1, 1), (1, TEXT_BYTES), (EXCLUSION_PATTERNS, 4)] {
            assert_eq!(patterns(count, length).recorded(), Some(patterns(count, length)));
            assert_eq!(read(&patterns(count, length)), Ok(patterns(count, length)));
        }
        for (count, length) in [(1, TEXT_BYTES + 1), (EXCLUSION_PATTERNS + 1, 1), (EXCLUSION_PATTERNS, 10)] {
            let cut = patterns(count, length).recorded().unwrap();
            assert!(cut.is_cut && cut.patterns.is_empty() && read(&cut).is_ok(), "{count} patterns of {length} bytes");
            assert!(read(&patterns(count, length)).is_err(), "{count} patterns of {length} bytes");
        }
    }

    #[test]
    fn markers_are_recorded_in_order_each_once() {
        let shuffled =
            Exclusions { markers: ["b", "a", "b"].map(|name| name.into()).to_vec(), ..Exclusions::default() };
        assert!(read(&shuffled).is_err());
        let recorded = shuffled.recorded().unwrap();
        assert_eq!(recorded.markers, [b"a", b"b"]);
        assert_eq!(read(&recorded), Ok(recorded));
    }
}
