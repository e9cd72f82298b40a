//! Source: a module as it was linked, taken apart. What the splitter does not know is refused.

use sha2::{Digest, Sha256};
use wasmparser::{
    Data, Element, ElementKind, Export, FunctionBody, Global, Import, MemoryType, Parser, Payload, RecGroup, Table,
    TypeRef,
};

use super::SplitError;

/// The sections of a module. Functions are numbered as there: the imported ones come first.
#[derive(Default)]
pub(super) struct Source<'a> {
    /// What is different for any two modules.
    pub(super) identity: String,
    pub(super) types: Vec<RecGroup>,
    /// All of them functions.
    pub(super) imports: Vec<Import<'a>>,
    pub(super) tables: Vec<Table<'a>>,
    pub(super) memories: Vec<MemoryType>,
    pub(super) globals: Vec<Global<'a>>,
    pub(super) exports: Vec<Export<'a>>,
    pub(super) start: Option<u32>,
    pub(super) elements: Vec<Element<'a>>,
    /// The type of each function that is not imported, and its body.
    pub(super) functions: Vec<(u32, FunctionBody<'a>)>,
    pub(super) data: Vec<Data<'a>>,
}

impl<'a> Source<'a> {
    pub(super) fn parse(module: &'a [u8]) -> Result<Self, SplitError> {
        let digest = Sha256::digest(module);
        let identity = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let mut source = Self { identity, ..Self::default() };
        let (mut signatures, mut bodies) = (Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::Version { .. } | Payload::CodeSectionStart { .. } | Payload::End(_) => {}
                Payload::TypeSection(section) => source.types = list(section)?,
                Payload::ImportSection(section) => source.imports = section.into_imports().collect::<Result<_, _>>()?,
                Payload::FunctionSection(section) => signatures = list(section)?,
                Payload::TableSection(section) => source.tables = list(section)?,
                Payload::MemorySection(section) => source.memories = list(section)?,
                Payload::GlobalSection(section) => source.globals = list(section)?,
                Payload::ExportSection(section) => source.exports = list(section)?,
                Payload::StartSection { func, .. } => source.start = Some(func),
                Payload::ElementSection(section) => source.elements = list(section)?,
                Payload::CodeSectionEntry(body) => bodies.push(body),
                Payload::DataSection(section) => source.data = list(section)?,
                Payload::CustomSection(section) if DESCRIPTIVE.contains(&section.name()) => {}
                Payload::CustomSection(section) => return Err(SplitError::Section(section.name().to_owned())),
                other => {
                    let number = other.as_section().map_or(String::new(), |(number, _)| format!("number {number}"));
                    return Err(SplitError::Section(number));
                }
            }
        }
        if let Some(import) = source.imports.iter().find(|import| !matches!(import.ty, TypeRef::Func(_))) {
            return Err(SplitError::Import(import.name.to_owned()));
        }
        if source.elements.iter().any(|element| !matches!(element.kind, ElementKind::Active { .. })) {
            return Err(SplitError::Element);
        }
        source.functions = signatures.into_iter().zip(bodies).collect();
        Ok(source)
    }

    /// How many functions are imported; their numbers are below this.
    pub(super) fn imported(&self) -> u32 {
        self.imports.len() as u32
    }

    /// The type of a function.
    pub(super) fn signature(&self, function: u32) -> u32 {
        match self.imports.get(function as usize).map(|import| import.ty) {
            Some(TypeRef::Func(signature)) => signature,
            Some(_) => unreachable!("parse refuses other imports"),
            None => self.functions[(function - self.imported()) as usize].0,
        }
    }
}

fn list<'a, T: wasmparser::FromReader<'a>>(section: wasmparser::SectionLimited<'a, T>) -> Result<Vec<T>, SplitError> {
    Ok(section.into_iter().collect::<Result<_, _>>()?)
}

/// Sections that say something about the module and do nothing; neither file has them.
const DESCRIPTIVE: [&str; 3] = ["name", "producers", "target_features"];
