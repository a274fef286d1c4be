//! Inspects a component, before any of it is compiled or run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use wasmparser::Payload::{
    ComponentCanonicalSection, ComponentExportSection, ComponentImportSection, ComponentSection, End, ModuleSection,
    Version,
};
use wasmparser::{BinaryReaderError, CanonicalFunction, CanonicalOption, Encoding, Parser};

use crate::{Capability, Error, ErrorKind, Grants};

const PACKAGE: &str = "pointwork:module";

/// The major and minor version of the contract that this host implements: it accepts modules of every 0.1.x.
const SUPPORTED: (u64, u64) = (0, 1);

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
}

/// The part of the contract that a component implements.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conformance {
    /// The form of its handlers and listeners.
    pub form: Form,
    /// The version of the contract that it was built against.
    pub version: String,
    /// Whether it lists controllers.
    pub controllers: bool,
    /// Whether it lists channels.
    pub channels: bool,
}

/// Reads the outline of a component. Compiles and runs nothing.
///
/// # Errors
/// [`NotAComponent`](ErrorKind::NotAComponent) if the bytes are something else, or malformed.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, Error> {
    if !bytes.starts_with(b"\0asm") {
        return Err(not_wasm(bytes));
    }
    let mut inspection = Inspection {
        imports: Vec::new(),
        exports: Vec::new(),
        size: bytes.len(),
        has_async_lift: false,
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
                        .with_hint("`pointwork build` turns a cargo package into a component"),
                );
            }
            ModuleSection { .. } | ComponentSection { .. } => depth += 1,
            End(_) => depth = depth.saturating_sub(1),
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
            _ => {}
        }
    }
    Ok(inspection)
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

impl Inspection {
    /// The capabilities that it imports, each once: a module needs a grant for each of them.
    pub fn capabilities(&self) -> Vec<Capability> {
        let imported = self.foreign_imports().filter_map(|import| Capability::of(import).ok()?);
        imported.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Checks that the host can serve it with these grants (spec C5).
    ///
    /// # Errors
    /// [`WrongVersion`](ErrorKind::WrongVersion), [`WrongWorld`](ErrorKind::WrongWorld) and
    /// [`ForbiddenImport`](ErrorKind::ForbiddenImport). Each names what was found and what was expected; the hint of
    /// the last one has the missing lines of the configuration.
    pub fn check(&self, grants: &Grants) -> Result<Conformance, Error> {
        let mut interfaces = self
            .imports
            .iter()
            .chain(&self.exports)
            .filter_map(|name| Interface::parse(name));
        if let Some(unsupported) = interfaces.find(|interface| !interface.is_supported()) {
            return Err(Error::new(
                ErrorKind::WrongVersion,
                format!(
                    "built against `{PACKAGE}@{}`; this host accepts `{PACKAGE}@{}.{}.x`",
                    unsupported.version, SUPPORTED.0, SUPPORTED.1
                ),
            )
            .with_hint("build the module with an SDK of this host's version"));
        }
        let conformance = self.conformance()?;
        self.check_imports(grants)?;
        Ok(conformance)
    }

    /// The imports from outside the contract.
    pub(crate) fn foreign_imports(&self) -> impl Iterator<Item = &str> {
        let names = self.imports.iter().map(String::as_str);
        names.filter(|name| Interface::parse(name).is_none())
    }

    fn check_imports(&self, grants: &Grants) -> Result<(), Error> {
        let unknown: Vec<_> = self
            .foreign_imports()
            .filter(|import| Capability::of(import).is_err())
            .collect();
        if !unknown.is_empty() {
            let message = format!(
                "imports {}, which no module may have; it may import `{PACKAGE}`, and the parts of WASI 0.2 that it is \
                 granted",
                listed(&unknown)
            );
            return Err(Error::new(ErrorKind::ForbiddenImport, message).with_hint(
                "Rust controllers are built for wasm32-unknown-unknown, channels that need WASI for wasm32-wasip2",
            ));
        }
        let mut missing = self.capabilities();
        missing.retain(|&capability| !grants.has(capability));
        if missing.is_empty() {
            return Ok(());
        }
        let is_missing =
            |import: &&str| matches!(Capability::of(import), Ok(Some(capability)) if missing.contains(&capability));
        let ungranted: Vec<_> = self.foreign_imports().filter(is_missing).collect();
        let lines: Vec<_> = missing.iter().map(|capability| capability.line()).collect();
        let message = format!("imports {}, which it was not granted", listed(&ungranted));
        Err(Error::new(ErrorKind::ForbiddenImport, message).with_hint(format!(
            "the grants of a module stand below its [[module]]; this grants the interfaces, with nothing behind them:\n\n\
             [module.grant]\n{}\n\n\
             a controller needs none: Rust controllers are built for wasm32-unknown-unknown",
            lines.join("\n")
        )))
    }

    fn conformance(&self) -> Result<Conformance, Error> {
        let controllers = self.pair("routes", "handlers")?;
        let channels = self.pair("channels", "listeners")?;
        let (form, version) = match (&controllers, &channels) {
            (Some((one, _)), Some((other, _))) if one != other => {
                return Err(self.wrong_world("handlers and listeners of one form"));
            }
            (Some(pair), _) | (None, Some(pair)) => pair.clone(),
            (None, None) => {
                let expected = |declares: &str, runs: &str| {
                    format!("`{PACKAGE}/{declares}` and `{PACKAGE}/{runs}` (or `{runs}-async`)")
                };
                let (routes, channels) = (expected("routes", "handlers"), expected("channels", "listeners"));
                return Err(self.truncated(&format!("{routes}, or {channels}")));
            }
        };
        Ok(Conformance {
            form,
            version,
            controllers: controllers.is_some(),
            channels: channels.is_some(),
        })
    }

    /// The form and the version of a pair of interfaces: one that declares, and one of two that run what is declared.
    fn pair(&self, declares: &str, runs: &str) -> Result<Option<(Form, String)>, Error> {
        let export = |name: &str| {
            let mut interfaces = self.exports.iter().filter_map(|export| Interface::parse(export));
            interfaces.find(|interface| interface.name == name)
        };
        let runs_async = format!("{runs}-async");
        let form = match (export(runs), export(&runs_async)) {
            (Some(_), Some(_)) => {
                let message = format!("exports `{PACKAGE}/{runs}` and `{PACKAGE}/{runs_async}`, expected one of them");
                return Err(Error::new(ErrorKind::WrongWorld, message));
            }
            (Some(_), None) => Some(Form::Synchronous),
            (None, Some(_)) => Some(Form::Asynchronous),
            (None, None) => None,
        };
        match (export(declares), form) {
            (Some(declares), Some(form)) => Ok(Some((form, declares.version.to_owned()))),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(self.truncated(&format!("`{PACKAGE}/{declares}` as well"))),
            (Some(_), None) => Err(self.truncated(&format!("`{PACKAGE}/{runs}` (or `{runs_async}`) as well"))),
        }
    }

    fn wrong_world(&self, expected: &str) -> Error {
        let exports: Vec<_> = self.exports.iter().map(String::as_str).collect();
        let found = if exports.is_empty() {
            "nothing".to_owned()
        } else {
            listed(&exports)
        };
        Error::new(ErrorKind::WrongWorld, format!("exports {found}, expected {expected}"))
    }

    fn truncated(&self, expected: &str) -> Error {
        self.wrong_world(expected)
            .with_hint("the component is of another world, or the file is truncated")
    }
}

fn listed(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// An interface name of the contract: `pointwork:module/routes@0.1.0`.
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

    /// By semver, a minor version of 0.x may break; a patch version may not.
    fn is_supported(&self) -> bool {
        let mut parts = self.version.split('.').map(str::parse::<u64>);
        matches!((parts.next(), parts.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) == SUPPORTED)
    }
}
