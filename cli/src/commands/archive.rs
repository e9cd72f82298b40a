//! Archive: writes a part of a snapshot as an archive that other programs unpack.

use std::io::Write;

use copal_client::dump::{DumpError, dump_tar, dump_zip};

use super::context::Context;
use super::place::Place;
use crate::args::values::Form;
use crate::exit::Exit;
use crate::report::EntryTrouble;
use crate::report::field::PathField;

/// Writes the archive, and names what it cannot hold.
pub(super) fn write(
    context: &Context<'_>,
    place: &Place<'_>,
    form: Form,
    out: &mut dyn Write,
) -> Result<Exit, DumpError> {
    let Place { snapshot, pages, scope } = place;
    let left_out = match form {
        Form::Tar => dump_tar(pages, snapshot.root, scope, out).map(|()| Vec::new())?,
        Form::TarZst => {
            let mut packed = zstd::stream::write::Encoder::new(out, LEVEL).map_err(DumpError::Output)?;
            dump_tar(pages, snapshot.root, scope, &mut packed)?;
            packed.finish().map_err(DumpError::Output)?;
            Vec::new()
        }
        Form::Zip => dump_zip(pages, snapshot.root, scope, out)?,
    };
    for (path, why) in &left_out {
        context.report.trouble(&EntryTrouble { path: PathField::of(path), warning: (*why).to_owned() });
    }
    Ok(if left_out.is_empty() { Exit::Done } else { Exit::Partial })
}

/// Strength of compression.
const LEVEL: i32 = 3;
