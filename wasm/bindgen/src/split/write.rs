//! Write: the two files, each with numbers of its own.

use std::collections::{BTreeMap, BTreeSet};

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{
    CodeSection, DataSection, ElementSection, EntityType, ExportKind, ExportSection, FunctionSection, GlobalSection,
    ImportSection, MemorySection, Module, StartSection, TableSection, TypeSection,
};
use wasmparser::{Export, ExternalKind};

use super::reach::{Item, Reach};
use super::source::Source;
use super::{FIRST, SplitError};

/// The first file: everything but the functions of the rest. What those use of it is exported besides.
pub(super) fn first(source: &Source<'_>, reach: &Reach) -> Result<Vec<u8>, SplitError> {
    let mut numbers = Numbers::default();
    numbers.add(reach.first.iter().copied().map(Item::Function));
    numbers.add((0..source.tables.len() as u32).map(Item::Table));
    numbers.add((0..source.memories.len() as u32).map(Item::Memory));
    numbers.add((0..source.globals.len() as u32).map(Item::Global));

    let mut imports = ImportSection::new();
    for function in reach.first.iter().filter(|function| **function < source.imported()) {
        numbers.parse_import(&mut imports, source.imports[*function as usize])?;
    }
    let mut tables = TableSection::new();
    for table in &source.tables {
        numbers.parse_table(&mut tables, table.clone())?;
    }
    let mut memories = MemorySection::new();
    for memory in &source.memories {
        memories.memory(numbers.memory_type(*memory)?);
    }
    let mut globals = GlobalSection::new();
    for global in &source.globals {
        numbers.parse_global(&mut globals, global.clone())?;
    }
    let mut exports = exports(source, &reach.first, &mut numbers)?;
    for export in source.exports.iter().filter(|export| export.kind != ExternalKind::Func) {
        numbers.parse_export(&mut exports, *export)?;
    }
    for item in used(source, reach) {
        exports.export(&name(source, item), kind(item), numbers.of(item)?);
    }
    let mut elements = ElementSection::new();
    for element in &source.elements {
        numbers.parse_element(&mut elements, element.clone())?;
    }
    let mut data = DataSection::new();
    for segment in &source.data {
        numbers.parse_data(&mut data, segment.clone())?;
    }
    let (functions, code) = code(source, &reach.first, &mut numbers)?;

    let mut module = Module::new();
    module.section(&types(source, &mut numbers)?).section(&imports).section(&functions).section(&tables);
    module.section(&memories).section(&globals).section(&exports);
    if let Some(start) = source.start {
        module.section(&StartSection { function_index: numbers.function_index(start)? });
    }
    module.section(&elements).section(&code).section(&data);
    Ok(module.finish())
}

/// The rest: functions, and what they use of the first file as imports.
pub(super) fn rest(source: &Source<'_>, reach: &Reach) -> Result<Vec<u8>, SplitError> {
    let mut numbers = Numbers::default();
    let mut imports = ImportSection::new();
    for function in reach.rest.iter().filter(|function| **function < source.imported()) {
        numbers.add([Item::Function(*function)]);
        numbers.parse_import(&mut imports, source.imports[*function as usize])?;
    }
    for item in used(source, reach) {
        numbers.add([item]);
        imports.import(FIRST, &name(source, item), entity(source, item, &mut numbers)?);
    }
    let defined = reach.rest.iter().filter(|function| **function >= source.imported());
    numbers.add(defined.copied().map(Item::Function));
    let exports = exports(source, &reach.rest, &mut numbers)?;
    let (functions, code) = code(source, &reach.rest, &mut numbers)?;

    let mut module = Module::new();
    module.section(&types(source, &mut numbers)?).section(&imports).section(&functions);
    module.section(&exports).section(&code);
    Ok(module.finish())
}

/// What the rest's functions use of the first file.
fn used(source: &Source<'_>, reach: &Reach) -> BTreeSet<Item> {
    let defined = reach.rest.iter().filter_map(|function| function.checked_sub(source.imported()));
    let used = defined.flat_map(|function| &reach.references[function as usize]);
    used.filter(|item| !matches!(item, Item::Function(function) if reach.rest.contains(function))).copied().collect()
}

/// Under which name the first file exports what the rest uses: no name in Rust has a colon, and what was made of another
/// module does not link.
fn name(source: &Source<'_>, item: Item) -> String {
    let identity = &source.identity;
    match item {
        Item::Function(number) => format!("{identity}:f{number}"),
        Item::Table(number) => format!("{identity}:t{number}"),
        Item::Memory(number) => format!("{identity}:m{number}"),
        Item::Global(number) => format!("{identity}:g{number}"),
    }
}

fn kind(item: Item) -> ExportKind {
    match item {
        Item::Function(_) => ExportKind::Func,
        Item::Table(_) => ExportKind::Table,
        Item::Memory(_) => ExportKind::Memory,
        Item::Global(_) => ExportKind::Global,
    }
}

fn entity(source: &Source<'_>, item: Item, numbers: &mut Numbers) -> Result<EntityType, SplitError> {
    Ok(match item {
        Item::Function(function) => EntityType::Function(source.signature(function)),
        Item::Table(table) => numbers.table_type(source.tables[table as usize].ty)?.into(),
        Item::Memory(memory) => numbers.memory_type(source.memories[memory as usize])?.into(),
        Item::Global(global) => numbers.global_type(source.globals[global as usize].ty)?.into(),
    })
}

/// Both files have all types, under the numbers that they had.
fn types(source: &Source<'_>, numbers: &mut Numbers) -> Result<TypeSection, SplitError> {
    let mut types = TypeSection::new();
    for group in &source.types {
        numbers.parse_recursive_type_group(types.ty(), group.clone())?;
    }
    Ok(types)
}

/// The module's exports of these functions.
fn exports(source: &Source<'_>, functions: &BTreeSet<u32>, numbers: &mut Numbers) -> Result<ExportSection, SplitError> {
    let mut exports = ExportSection::new();
    let here = |export: &&Export<'_>| export.kind == ExternalKind::Func && functions.contains(&export.index);
    for export in source.exports.iter().filter(here) {
        numbers.parse_export(&mut exports, *export)?;
    }
    Ok(exports)
}

/// Those of the functions that are not imported.
fn code(
    source: &Source<'_>,
    functions: &BTreeSet<u32>,
    numbers: &mut Numbers,
) -> Result<(FunctionSection, CodeSection), SplitError> {
    let (mut signatures, mut bodies) = (FunctionSection::new(), CodeSection::new());
    for function in functions.iter().filter_map(|function| function.checked_sub(source.imported())) {
        let (signature, body) = &source.functions[function as usize];
        signatures.function(*signature);
        numbers.parse_function_body(&mut bodies, body.clone())?;
    }
    Ok((signatures, bodies))
}

/// Which number each thing has in a file, and how many of each kind there are.
#[derive(Default)]
struct Numbers {
    of: BTreeMap<Item, u32>,
    next: [u32; 4],
}

impl Numbers {
    /// Numbers items in their order.
    fn add(&mut self, items: impl IntoIterator<Item = Item>) {
        for item in items {
            let next = match item {
                Item::Function(_) => &mut self.next[0],
                Item::Table(_) => &mut self.next[1],
                Item::Memory(_) => &mut self.next[2],
                Item::Global(_) => &mut self.next[3],
            };
            self.of.insert(item, *next);
            *next += 1;
        }
    }

    fn of(&self, item: Item) -> Result<u32, Error<SplitError>> {
        self.of.get(&item).copied().ok_or(Error::UserError(SplitError::Unreached(format!("{item:?}"))))
    }
}

impl Reencode for Numbers {
    type Error = SplitError;

    fn function_index(&mut self, function: u32) -> Result<u32, Error<SplitError>> {
        self.of(Item::Function(function))
    }

    fn table_index(&mut self, table: u32) -> Result<u32, Error<SplitError>> {
        self.of(Item::Table(table))
    }

    fn memory_index(&mut self, memory: u32) -> Result<u32, Error<SplitError>> {
        self.of(Item::Memory(memory))
    }

    fn global_index(&mut self, global: u32) -> Result<u32, Error<SplitError>> {
        self.of(Item::Global(global))
    }
}
