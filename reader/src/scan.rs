//! Scan: builds an index of a domain from the packs' own tables, for when the index does not know everything.

use copal_format::id::{DomainId, PackId};
use copal_format::index::SegmentWriter;
use copal_format::layout::{self, Place};
use copal_format::pack::{self, PackTable, TRAILER_BYTES, Trailer};

use crate::directory::{Directory, Object, read_range};
use crate::report::Report;

/// Reads the table of a pack without its blocks; the error is text.
pub(crate) fn read_table(file: &Object) -> Result<PackTable, String> {
    let words = |error: std::io::Error| error.to_string();
    let length = file.length;
    let start = length.checked_sub(TRAILER_BYTES as u64).ok_or("it is too short for a pack")?;
    let last = read_range(file, start..length).map_err(words)?;
    let trailer = Trailer::parse(&last, length).map_err(|error| error.to_string())?;
    let header = read_range(file, trailer.header_range()).map_err(words)?;
    let table = read_range(file, trailer.table_range()).map_err(words)?;
    pack::parse_table(&trailer, &header, &table).map_err(|error| error.to_string())
}

/// A segment with all packs of a domain; `None` if there are no packs.
pub(crate) fn scan(directory: &Directory, domain: DomainId, report: &mut Report<'_>) -> Option<Vec<u8>> {
    report.note("the index does not know everything: the tables of all packs are read");
    let mut writer = SegmentWriter::new(domain, [0; 16]);
    for (place, folder) in [(Place::Packs, "packs"), (Place::Moved, "moved")] {
        for part in directory.names(folder).unwrap_or_default() {
            for name in directory.names(&format!("{folder}/{part}")).unwrap_or_default() {
                let object = format!("{folder}/{part}/{name}");
                let Ok(id) = PackId::from_hex(&name) else { continue };
                if layout::pack(place, id) != object {
                    continue;
                }
                let table = directory.file(&object).map_err(|error| error.to_string());
                match table.and_then(|file| read_table(&file)) {
                    Ok(table) if table.domain != domain => {}
                    Ok(table) => {
                        if let Err(error) = writer.add_pack(id, place, &table) {
                            report.note(&format!("the tables of further packs are passed over: {error}"));
                            return writer.finish().map(|segment| segment.bytes);
                        }
                    }
                    Err(why) => report.damaged_object(&object, &why),
                }
            }
        }
    }
    writer.finish().map(|segment| segment.bytes)
}
