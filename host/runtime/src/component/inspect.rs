//! Inspects a component, before any of it is compiled or run.

use std::collections::BTreeSet;

use pointwork_core::one_line;
use serde::{Deserialize, Serialize};
use wasmparser::Payload::{
    ComponentCanonicalSection, ComponentExportSection, ComponentImportSection, ComponentSection, ComponentTypeSection,
    CustomSection, End, ModuleSection, Version,
};
use wasmparser::{
    BinaryReaderError, CanonicalFunction, CanonicalOption, ComponentType, CustomSectionReader, Encoding,
    InstanceTypeDeclaration, KnownCustom, Name, Parser,
};

use crate::{Capability, Error, ErrorKind, Grants};

const PACKAGE: &str = "pointwork:module";

/// The longest name of a function, in bytes. Each frame of a backtrace has a copy.
const MAX_FUNCTION_NAME: usize = 64 * 1024;

/// The versions of the contract that this host serves, oldest first, by major and minor number. A module of any patch
/// version is served if this host has the functions that it imports.
const SUPPORTED: &[(u64, u64)] = &[(0, 2)];

/// The form of the handlers and listeners that a module exports.
#[derive(Clone, Copy, Debug, derive_more::Display, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[display(rename_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// `handlers`, `listeners`: an instance serves one call at a time.
    Synchronous,
    /// `handlers-async`, `listeners-async`: an instance may have several calls in flight.
    Asynchronous,
}

impl Form {
    /// The interface that the host calls for a request.
    pub(crate) fn handlers(self) -> &'static str {
        match self {
            Self::Synchronous => "handlers",
            Self::Asynchronous => "handlers-async",
        }
    }

    /// The interface that the host calls for an event.
    pub(crate) fn listeners(self) -> &'static str {
        match self {
            Self::Synchronous => "listeners",
            Self::Asynchronous => "listeners-async",
        }
    }
}

/// The outline of a component.
///
/// [`inspect`] makes it for every component; [`check`](Self::check) checks whether the host can serve it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// Its imports, in its own order, with versions.
    pub imports: Vec<String>,
    /// Its exports, in its own order, with versions.
    pub exports: Vec<String>,
    /// Its size in bytes.
    pub size: usize,
    /// Whether any of its functions is lifted as an async function. A module of the asynchronous form may have none: a
    /// language without async implements the type with code that blocks.
    pub(crate) has_async_lift: bool,
    /// Whether it imports the function that reads a request's body chunk by chunk.
    pub(crate) opens_bodies: bool,
}

/// Reads the outline of a component. Compiles and runs nothing.
///
/// # Errors
/// [`NotAComponent`](ErrorKind::NotAComponent) if the bytes are something else, or malformed; [`Refused`](ErrorKind::Refused)
/// if a function has a name of more than 64 KiB.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, Error> {
    if !bytes.starts_with(b"\0asm") {
        return Err(not_wasm(bytes));
    }
    let mut inspection = Inspection {
        imports: Vec::new(),
        exports: Vec::new(),
        size: bytes.len(),
        has_async_lift: false,
        opens_bodies: false,
    };
    // Of components and modules within this one.
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(malformed)? {
            Version {
                encoding: Encoding::Module,
                ..
            } if depth == 0 => {
                return Err(
                    Error::new(ErrorKind::NotAComponent, "a core module, expected a component")
                        .with_hint("`pointwork build` turns a project into a component"),
                );
            }
            ModuleSection { .. } | ComponentSection { .. } => depth += 1,
            End(_) => depth = depth.saturating_sub(1),
            ComponentTypeSection(section) if depth == 0 => {
                for declared in section {
                    if let ComponentType::Instance(items) = declared.map_err(malformed)? {
                        let opens_bodies = |item| is_export(item, "[method]context.open-body");
                        inspection.opens_bodies |= items.iter().any(opens_bodies);
                    }
                }
            }
            ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    inspection.imports.push(import.map_err(malformed)?.name.name.to_owned());
                }
            }
            ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    inspection.exports.push(export.map_err(malformed)?.name.name.to_owned());
                }
            }
            ComponentCanonicalSection(section) => {
                for function in section {
                    if let CanonicalFunction::Lift { options, .. } = function.map_err(malformed)? {
                        inspection.has_async_lift |= options.contains(&CanonicalOption::Async);
                    }
                }
            }
            CustomSection(section) => check_names(&section)?,
            _ => {}
        }
    }
    Ok(inspection)
}

/// Refuses functions with overlong names. The names are custom data: what cannot be read has no meaning.
fn check_names(section: &CustomSectionReader<'_>) -> Result<(), Error> {
    let KnownCustom::Name(names) = section.as_known() else {
        return Ok(());
    };
    for names in names.into_iter().map_while(Result::ok) {
        let Name::Function(functions) = names else { continue };
        for function in functions.into_iter().map_while(Result::ok) {
            let length = function.name.len();
            if length > MAX_FUNCTION_NAME {
                let message = format!(
                    "the name of function {} has {length} bytes, expected at most {MAX_FUNCTION_NAME}",
                    function.index
                );
                return Err(Error::new(ErrorKind::Refused, message));
            }
        }
    }
    Ok(())
}

/// The types of imported interfaces list their functions.
fn is_export(item: &InstanceTypeDeclaration<'_>, name: &str) -> bool {
    matches!(item, InstanceTypeDeclaration::Export { name: exported, .. } if exported.name == name)
}

fn malformed(error: BinaryReaderError) -> Error {
    let message = format!("the component is malformed at byte {}", error.offset());
    Error::new(ErrorKind::NotAComponent, message)
        .with_source(error)
        .with_hint("the file may be truncated; build or copy it again")
}

fn not_wasm(bytes: &[u8]) -> Error {
    let found = if bytes.is_empty() {
        "the file is empty".to_owned()
    } else {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(16)]);
        format!("it begins with `{}`", start.escape_debug())
    };
    Error::new(
        ErrorKind::NotAComponent,
        format!("not a WebAssembly component: {found}, expected `\\0asm`"),
    )
}

/// What to do instead of a grant.
const WITHOUT_CHANNELS: &str = "a module without channels is never granted anything: its controllers call channels \
                                instead, and are built for wasm32-wasip1, from which `pointwork build` makes components without WASI";

impl Inspection {
    /// The capabilities that it imports, each once: a module needs a grant for each of them.
    pub fn capabilities(&self) -> Vec<Capability> {
        let imported = self
            .foreign_imports()
            .filter_map(|import| Capability::from_import(import).ok()?);
        imported.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The version of the contract that it was built against: that of the manifest that it exports; `None` without one.
    pub fn contract_version(&self) -> Option<&str> {
        self.export("manifest").map(|manifest| manifest.version)
    }

    /// Checks that the host has its version of the contract, its form, and the capabilities that it imports. The result is
    /// its form.
    ///
    /// Whether it may have those capabilities is known only once it is loaded: a module without channels has none
    /// (spec C5).
    ///
    /// # Errors
    /// [`WrongVersion`](ErrorKind::WrongVersion), [`WrongWorld`](ErrorKind::WrongWorld) and
    /// [`ForbiddenImport`](ErrorKind::ForbiddenImport). Each names what was found and what was expected.
    pub fn check(&self) -> Result<Form, Error> {
        let mut interfaces = self
            .imports
            .iter()
            .chain(&self.exports)
            .filter_map(|name| Interface::parse(name));
        if let Some(unsupported) = interfaces.find(|interface| !interface.is_supported()) {
            return Err(unsupported.refused());
        }
        let form = self.form()?;
        self.check_form(form)?;
        self.check_foreign_imports()?;
        Ok(form)
    }

    /// Checks that the functions that wait are those of its form.
    fn check_form(&self, form: Form) -> Result<(), Error> {
        let (suffix, other) = match form {
            Form::Synchronous => ("-sync", "-async"),
            Form::Asynchronous => ("-async", "-sync"),
        };
        let mut interfaces = self.imports.iter().filter_map(|import| Interface::parse(import));
        let Some(wrong) = interfaces.find(|interface| interface.name.ends_with(other)) else {
            return Ok(());
        };
        let (name, expected) = (wrong.name, wrong.name.replace(other, suffix));
        let message =
            format!("a module of the {form} form imports `{PACKAGE}/{name}`, expected `{PACKAGE}/{expected}`");
        let hint = match form {
            Form::Synchronous => "its handlers wait by suspending the instance: build it for the world `module`",
            Form::Asynchronous => {
                "a function of that interface would suspend the instance with all of its calls: build it for the world \
                 `module-async`"
            }
        };
        Err(Error::new(ErrorKind::WrongWorld, message).with_hint(hint))
    }

    /// The imports from outside the contract.
    pub(crate) fn foreign_imports(&self) -> impl Iterator<Item = &str> {
        let names = self.imports.iter().map(String::as_str);
        names.filter(|name| Interface::parse(name).is_none())
    }

    fn check_foreign_imports(&self) -> Result<(), Error> {
        let unknown: Vec<_> = self
            .foreign_imports()
            .filter(|import| Capability::from_import(import).is_err())
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let message = format!(
            "imports {}, which no module may have; it may import `{PACKAGE}`, and a module with channels the parts of WASI \
             0.2 that it is granted",
            listed(&unknown)
        );
        Err(Error::new(ErrorKind::ForbiddenImport, message)
            .with_hint("Rust controllers are built for wasm32-wasip1, channels that need WASI for wasm32-wasip2"))
    }

    /// Checks that what it imports is granted (spec C5). The component is not compiled yet, so its channels are not known.
    ///
    /// # Errors
    /// [`ForbiddenImport`](ErrorKind::ForbiddenImport). The hint has the missing lines of the configuration.
    pub(crate) fn check_grants(&self, grants: &Grants) -> Result<(), Error> {
        let mut missing = self.capabilities();
        if !cfg!(feature = "grants") && !missing.is_empty() {
            let foreign: Vec<_> = self.foreign_imports().collect();
            let message = format!("imports {}, and this host has no WASI", listed(&foreign));
            return Err(Error::new(ErrorKind::ForbiddenImport, message)
                .with_hint("build the host with the feature `grants` of the crate `pointwork`"));
        }
        missing.retain(|&capability| !grants.has(capability));
        if missing.is_empty() {
            return Ok(());
        }
        let is_missing = |import: &&str| matches!(Capability::from_import(import), Ok(Some(capability)) if missing.contains(&capability));
        let ungranted: Vec<_> = self.foreign_imports().filter(is_missing).collect();
        let lines: Vec<_> = missing.iter().map(|capability| capability.line()).collect();
        let message = format!("imports {}, which it was not granted", listed(&ungranted));
        Err(Error::new(ErrorKind::ForbiddenImport, message).with_hint(format!(
            "{WITHOUT_CHANNELS}\n\
             a module with channels is granted these interfaces, with nothing behind them, by lines below its \
             [[module]]:\n\n[module.grant]\n{}",
            lines.join("\n")
        )))
    }

    /// Checks that a module without channels neither imports nor is granted anything (spec C5).
    ///
    /// # Errors
    /// [`ForbiddenImport`](ErrorKind::ForbiddenImport).
    pub(crate) fn check_no_capability(&self, grants: &Grants) -> Result<(), Error> {
        let foreign: Vec<_> = self.foreign_imports().collect();
        let granted = grants.describe();
        let found = match (foreign.is_empty(), granted.is_empty()) {
            (true, true) => return Ok(()),
            (false, _) => format!("it imports {}", listed(&foreign)),
            (true, false) => {
                let granted: Vec<_> = granted.iter().map(String::as_str).collect();
                format!("it is granted {}", listed(&granted))
            }
        };
        let message = format!("declares no channel, and a module without channels has no capability, but {found}");
        Err(Error::new(ErrorKind::ForbiddenImport, message).with_hint(WITHOUT_CHANNELS))
    }

    /// The form is told by the exported handlers; exports that the contract does not have are ignored.
    fn form(&self) -> Result<Form, Error> {
        let form = match (self.export("handlers"), self.export("handlers-async")) {
            (Some(_), None) => Form::Synchronous,
            (None, Some(_)) => Form::Asynchronous,
            (Some(_), Some(_)) => {
                let message =
                    format!("exports `{PACKAGE}/handlers` and `{PACKAGE}/handlers-async`, expected one of them");
                return Err(Error::new(ErrorKind::WrongWorld, message));
            }
            (None, None) => return Err(self.wrong_world()),
        };
        match (self.export("manifest"), self.export(form.listeners())) {
            (Some(_), Some(_)) => Ok(form),
            _ => Err(self.wrong_world()),
        }
    }

    /// The interface of the contract that it exports under that name.
    fn export(&self, name: &str) -> Option<Interface<'_>> {
        let mut interfaces = self.exports.iter().filter_map(|export| Interface::parse(export));
        interfaces.find(|interface| interface.name == name)
    }

    fn wrong_world(&self) -> Error {
        let exports: Vec<_> = self.exports.iter().map(String::as_str).collect();
        let found = if exports.is_empty() {
            "nothing".to_owned()
        } else {
            listed(&exports)
        };
        let message = format!(
            "exports {found}, expected `{PACKAGE}/manifest` with `handlers` and `listeners`, or with `handlers-async` and \
             `listeners-async`"
        );
        Error::new(ErrorKind::WrongWorld, message)
            .with_hint("the component is of another world, or the file is truncated")
    }
}

fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 20;
    let shown = names.iter().take(SHOWN);
    let mut listed: Vec<_> = shown.map(|name| format!("`{}`", one_line(name, 128))).collect();
    if names.len() > SHOWN {
        listed.push(format!("{} more", names.len() - SHOWN));
    }
    listed.join(", ")
}

/// An interface name of the contract: `pointwork:module/handlers@0.2.0`.
struct Interface<'a> {
    name: &'a str,
    version: &'a str,
}

impl<'a> Interface<'a> {
    fn parse(name: &'a str) -> Option<Self> {
        let rest = name.strip_prefix(PACKAGE)?.strip_prefix('/')?;
        let (name, version) = rest.split_once('@').unwrap_or((rest, "no version"));
        Some(Self { name, version })
    }

    /// The major and minor version. By semver, a minor version of 0.x may break; a patch version may not.
    fn minor(&self) -> Option<(u64, u64)> {
        let mut parts = self.version.split('.').map(str::parse::<u64>);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
            _ => None,
        }
    }

    fn is_supported(&self) -> bool {
        self.minor().is_some_and(|minor| SUPPORTED.contains(&minor))
    }

    fn refused(&self) -> Error {
        let supported: Vec<_> = SUPPORTED
            .iter()
            .map(|(major, minor)| format!("`{PACKAGE}@{major}.{minor}.x`"))
            .collect();
        let message = format!(
            "built against `{PACKAGE}@{}`; this host accepts {}",
            self.version,
            supported.join(", ")
        );
        let newest = SUPPORTED.last().copied().unwrap_or_default();
        let rebuild = format!("rebuild the module with the SDK of {}.{}", newest.0, newest.1);
        let hint = if self.minor() > Some(newest) {
            format!("update the host, or {rebuild}")
        } else {
            rebuild
        };
        Error::new(ErrorKind::WrongVersion, message).with_hint(hint)
    }
}
