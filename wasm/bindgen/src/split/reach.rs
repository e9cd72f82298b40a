//! Reach: which functions a set of exports leads to, by calls and through the table.

use std::collections::BTreeSet;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{CodeSection, Instruction};
use wasmparser::{ElementItems, ExternalKind, FunctionBody, Operator, TableInit};

use super::SplitError;
use super::source::Source;

/// What has a number of its own in a module.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    Function(u32),
    Table(u32),
    Memory(u32),
    Global(u32),
}

/// Which functions go where.
pub(super) struct Reach {
    /// What every function refers to that is not imported, in their order.
    pub(super) references: Vec<BTreeSet<Item>>,
    /// Everything that is reached from what is in the first file; imported functions among it.
    pub(super) first: BTreeSet<u32>,
    /// What else the exports of the rest reach. Of imported functions, those that its functions call.
    pub(super) rest: BTreeSet<u32>,
}

impl Reach {
    /// Follows calls from the exports. Whatever lies in a table may be called by anybody, so that all of that belongs to the
    /// first file.
    pub(super) fn of(source: &Source<'_>, is_rest: impl Fn(&str) -> bool) -> Result<Self, SplitError> {
        let references =
            source.functions.iter().map(|(_, body)| of_body(body.clone())).collect::<Result<Vec<_>, _>>()?;
        let (mut first, mut rest) = (of_tables(source)?, Vec::new());
        first.extend(source.start);
        for export in source.exports.iter().filter(|export| export.kind == ExternalKind::Func) {
            if is_rest(export.name) { &mut rest } else { &mut first }.push(export.index);
        }
        let imported = source.imported();
        let follow = |roots: Vec<u32>, without: &BTreeSet<u32>| {
            let (mut found, mut next) = (BTreeSet::new(), roots);
            while let Some(function) = next.pop() {
                let is_elsewhere = function >= imported && without.contains(&function);
                if is_elsewhere || !found.insert(function) {
                    continue;
                }
                let Some(defined) = function.checked_sub(imported) else { continue };
                next.extend(functions(&references[defined as usize]));
            }
            found
        };
        let first = follow(first, &BTreeSet::new());
        let rest = follow(rest, &first);
        Ok(Self { references, first, rest })
    }
}

/// The functions among items.
pub(super) fn functions(items: &BTreeSet<Item>) -> impl Iterator<Item = u32> {
    items.iter().filter_map(|item| if let Item::Function(function) = item { Some(*function) } else { None })
}

/// What lies in tables from the beginning, and what constants refer to.
fn of_tables(source: &Source<'_>) -> Result<Vec<u32>, SplitError> {
    let mut found = References::default();
    for table in &source.tables {
        if let TableInit::Expr(init) = &table.init {
            found.const_expr(init.clone())?;
        }
    }
    for global in &source.globals {
        found.const_expr(global.init_expr.clone())?;
    }
    for element in &source.elements {
        match &element.items {
            ElementItems::Functions(listed) => {
                for function in listed.clone() {
                    found.function_index(function?)?;
                }
            }
            ElementItems::Expressions(_, listed) => {
                for item in listed.clone() {
                    found.const_expr(item?)?;
                }
            }
        }
    }
    Ok(functions(&found.0).collect())
}

fn of_body(body: FunctionBody<'_>) -> Result<BTreeSet<Item>, SplitError> {
    let mut found = References::default();
    found.parse_function_body(&mut CodeSection::new(), body)?;
    Ok(found.0)
}

/// Notes what it is asked to renumber.
#[derive(Default)]
struct References(BTreeSet<Item>);

type Noted = Result<u32, Error<SplitError>>;

impl Reencode for References {
    type Error = SplitError;

    fn function_index(&mut self, function: u32) -> Noted {
        self.0.insert(Item::Function(function));
        Ok(function)
    }

    fn table_index(&mut self, table: u32) -> Noted {
        self.0.insert(Item::Table(table));
        Ok(table)
    }

    fn memory_index(&mut self, memory: u32) -> Noted {
        self.0.insert(Item::Memory(memory));
        Ok(memory)
    }

    fn global_index(&mut self, global: u32) -> Noted {
        self.0.insert(Item::Global(global));
        Ok(global)
    }

    fn instruction<'a>(&mut self, operator: Operator<'a>) -> Result<Instruction<'a>, Error<SplitError>> {
        let refused = match operator {
            // A segment of one file cannot be named in the other.
            Operator::MemoryInit { .. } | Operator::DataDrop { .. } => "a data segment",
            Operator::TableInit { .. } | Operator::ElemDrop { .. } => "an element segment",
            // A function that is referred to has to be declared in the same file.
            Operator::RefFunc { .. } => "a reference to a function",
            operator => return utils::instruction(self, operator),
        };
        Err(Error::UserError(SplitError::Instruction(refused)))
    }
}
