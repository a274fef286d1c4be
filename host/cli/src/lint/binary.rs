//! The parts of a core module that show its calls.

use std::collections::{HashMap, HashSet};

use wasmparser::{
    BinaryReaderError, DataKind, Encoding, FunctionBody, KnownCustom, Name, Operator, Parser, Payload, TypeRef,
};

/// The core module of a component.
#[derive(Debug, Default)]
pub(super) struct CoreModule<'a> {
    /// Whether the component imports anything besides the contract.
    pub(super) has_wasi: bool,
    /// The functions with a name.
    pub(super) names: HashMap<u32, &'a str>,
    /// The callers of each function that is called directly.
    pub(super) callers: HashMap<u32, HashSet<u32>>,
    /// The constants of functions, which may be addresses, each with its function.
    pub(super) constants: Vec<(u32, u32)>,
    /// The contents of the memory, each part with its address.
    pub(super) memory: Vec<(u32, &'a [u8])>,
    /// The contents of sections of the SDK.
    pub(super) declared: Vec<&'a [u8]>,
    pub(super) listed: Vec<&'a [u8]>,
    /// The functions so far, imported ones first.
    pub(super) functions: u32,
}

impl<'a> CoreModule<'a> {
    /// The largest core module of a component. The others are a few functions that connect it.
    pub(super) fn of(component: &'a [u8]) -> Option<Self> {
        Self::read(component).ok().flatten()
    }

    fn read(component: &'a [u8]) -> Result<Option<Self>, BinaryReaderError> {
        let mut has_wasi = false;
        let mut largest: Option<Self> = None;
        // A module cannot contain another.
        let mut current: Option<Self> = None;
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(component) {
            let payload = payload?;
            match &payload {
                Payload::Version {
                    encoding: Encoding::Module,
                    ..
                } => current = Some(Self::default()),
                Payload::ComponentSection { .. } | Payload::ModuleSection { .. } => depth += 1,
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section.clone() {
                        has_wasi |= !import?.name.name.starts_with("pointwork:module/");
                    }
                }
                Payload::End(_) => {
                    depth = depth.saturating_sub(1);
                    if let Some(module) = current.take()
                        && largest.as_ref().is_none_or(|other| other.functions < module.functions)
                    {
                        largest = Some(module);
                    }
                }
                _ => {}
            }
            if let Some(module) = &mut current {
                module.add(payload)?;
            }
        }
        Ok(largest.map(|module| Self { has_wasi, ..module }))
    }

    fn add(&mut self, payload: Payload<'a>) -> Result<(), BinaryReaderError> {
        match payload {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    self.functions += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => {
                self.add_code(&body)?;
                self.functions += 1;
            }
            Payload::DataSection(section) => {
                for data in section {
                    let data = data?;
                    if let DataKind::Active { offset_expr, .. } = data.kind
                        && let Operator::I32Const { value } = offset_expr.get_operators_reader().read()?
                    {
                        self.memory.push((value.cast_unsigned(), data.data));
                    }
                }
            }
            Payload::CustomSection(section) => match section.as_known() {
                KnownCustom::Name(subsections) => {
                    for subsection in subsections {
                        if let Name::Function(functions) = subsection? {
                            for function in functions {
                                let function = function?;
                                self.names.insert(function.index, function.name);
                            }
                        }
                    }
                }
                _ if section.name() == "pointwork:declared" => self.declared.push(section.data()),
                _ if section.name() == "pointwork:listed" => self.listed.push(section.data()),
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn add_code(&mut self, body: &FunctionBody<'_>) -> Result<(), BinaryReaderError> {
        let function = self.functions;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            match operators.read()? {
                Operator::Call { function_index } => {
                    self.callers.entry(function_index).or_default().insert(function);
                }
                Operator::I32Const { value } => self.constants.push((function, value.cast_unsigned())),
                // The address of a copy has the place of the original as its offset.
                Operator::I32Load { memarg } | Operator::I64Load { memarg } => {
                    self.constants.push((function, memarg.offset as u32));
                }
                // Two words at once.
                Operator::I64Const { value } => {
                    let words = value.cast_unsigned();
                    self.constants.push((function, (words >> 32) as u32));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the compiler of Rust made it: the places of panics in the standard library are part of it.
    pub(super) fn is_rust(&self) -> bool {
        !self.declared.is_empty() || !self.listed.is_empty() || !self.addresses(b"/rustc/").is_empty()
    }

    /// The addresses at which the memory has these bytes at first.
    pub(super) fn addresses(&self, bytes: &[u8]) -> Vec<u32> {
        let mut found = Vec::new();
        for (start, data) in &self.memory {
            let hits = data
                .windows(bytes.len())
                .enumerate()
                .filter(|(_, window)| *window == bytes);
            found.extend(hits.map(|(at, _)| start.wrapping_add(at as u32)));
        }
        found
    }
}
