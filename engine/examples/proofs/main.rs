//! Proofs: properties of the engine's arithmetic on what others choose. `cargo xtask proofs` executes the machine code of each
//! with unknown numbers and follows every path: none may panic. Run by itself, the program checks a property for the
//! numbers given, as in `proofs numbers::padme_rounds_up 5`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

mod numbers;
mod prover;
mod stored;
mod trees;

/// The numbers for which a property is to hold. A property that needs bytes takes theirs.
type Numbers = [u64; 6];
type Property = fn(&Numbers);

macro_rules! properties {
    ($($module:ident: $($name:ident)*;)*) => {
        &[$($((concat!(stringify!($module), "::", stringify!($name)), $module::$name)),*),*]
    };
}

const PROPERTIES: &[(&str, Property)] = properties! {
    numbers: padme_rounds_up padme_keeps_order believed_numbers times_saturate varints_have_one_form
        signed_varints_read_back cursors_stay_inside cbor_numbers_have_one_form cbor_strings_end_inside
        cbor_numbers_read_back chains_have_no_gaps chunk_sizes tree_parameters sets_hold_numbers;
    stored: trailers_fit_packs tables_fit_packs segment_parts_follow_each_other segment_reads_stay_inside segment_slots_are_bounded
        segment_rows_lead_nowhere_else overlays_have_their_length;
    trees: holes_lie_in_files windows_cover_blocks lists_add_up paths_name_entries
        path_order modes_read_back;
    prover: unsigned_overflow signed_overflow bits_and_shifts unchecked_sum unchecked_difference unchecked_product
        unchecked_seconds rounded_beyond wrong_slot borrowed_length never_reached endless_count;
};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        PROPERTIES.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    let Some((_, property)) = PROPERTIES.iter().find(|(known, _)| *known == name) else {
        eprintln!("there is no property {name}");
        return ExitCode::FAILURE;
    };
    let mut numbers: Numbers = [0; 6];
    numbers.iter_mut().zip(arguments).for_each(|(number, text)| *number = text.parse().expect("a number"));
    property(&numbers);
    println!("holds");
    ExitCode::SUCCESS
}

/// Leaves out the numbers for which the condition does not hold.
fn assume(holds: bool) {
    if !holds {
        leave_out();
    }
}

/// Ends a path that is left out. The prover knows this function by its name.
#[inline(never)]
fn leave_out() -> ! {
    println!("left out");
    std::process::exit(0)
}

/// The first bytes of the numbers.
fn bytes<const N: usize>(numbers: &Numbers) -> [u8; N] {
    let mut all = [0; 48];
    all.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(bytes, number)| *bytes = number.to_le_bytes());
    *all.first_chunk().expect("there are 48 bytes")
}
