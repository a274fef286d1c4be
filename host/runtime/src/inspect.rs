//! Looking at a component from outside, before anything of it runs.

use std::fmt;

use wasmparser::{Encoding, Parser, Payload};

use crate::{Error, ErrorKind};

/// The package of the contract.
const PACKAGE: &str = "pointwork:module";

/// The minor line of the contract that this host speaks: it takes every module of a 0.1.x.
const SUPPORTED: (u64, u64) = (0, 1);

/// Which form of handler a module exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// `handlers`: an instance serves one request at a time.
    Synchronous,
    /// `handlers-async`: an instance may have several requests in flight.
    Asynchronous,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Synchronous => "synchronous",
            Self::Asynchronous => "asynchronous",
        })
    }
}

/// What a component says of itself.
///
/// [`inspect`] makes it for every component, also for one that cannot be served; [`verdict`](Self::verdict) tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// What it imports, in its own order, with versions.
    pub imports: Vec<String>,
    /// What it exports, in its own order, with versions.
    pub exports: Vec<String>,
    /// Its size in bytes.
    pub size: usize,
}

/// What the host can serve of a component that fits the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fit {
    /// The form of its handlers.
    pub form: Form,
    /// The version of the contract that it was built against.
    pub version: String,
}

/// Reads the outline of a component. Compiles and runs nothing.
///
/// # Errors
/// [`NotAComponent`](ErrorKind::NotAComponent) if the bytes are something else, or broken; the message says what.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, Error> {
    if !bytes.starts_with(b"\0asm") {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(16)])
            .escape_debug()
            .to_string();
        let found = if bytes.is_empty() {
            "the file is empty".to_owned()
        } else {
            format!("it begins with `{start}`")
        };
        return Err(Error::new(
            ErrorKind::NotAComponent,
            format!("not a WebAssembly component: {found}, expected `\\0asm`"),
        ));
    }
    let mut inspection = Inspection {
        imports: Vec::new(),
        exports: Vec::new(),
        size: bytes.len(),
    };
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        let broken = |error: wasmparser::BinaryReaderError| {
            Error::new(
                ErrorKind::NotAComponent,
                format!("the component is broken at byte {}", error.offset()),
            )
            .with_source(error)
            .with_hint("the file may be truncated; build or copy it again")
        };
        match payload.map_err(broken)? {
            Payload::Version {
                encoding: Encoding::Module,
                ..
            } if depth == 0 => {
                return Err(
                    Error::new(ErrorKind::NotAComponent, "a core module, expected a component")
                        .with_hint("`pointwork build` turns a cargo package into a component"),
                );
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    inspection.imports.push(import.map_err(broken)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    inspection.exports.push(export.map_err(broken)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(inspection)
}

impl Inspection {
    /// Whether the host can serve it as a controller module.
    ///
    /// # Errors
    /// [`WrongVersion`](ErrorKind::WrongVersion), [`WrongWorld`](ErrorKind::WrongWorld) and
    /// [`ForbiddenImport`](ErrorKind::ForbiddenImport); each names what was found and what was expected.
    pub fn verdict(&self) -> Result<Fit, Error> {
        let ours = self
            .imports
            .iter()
            .chain(&self.exports)
            .filter_map(|name| Interface::parse(name));
        if let Some(foreign) = ours.into_iter().find(|interface| !interface.is_supported()) {
            return Err(Error::new(
                ErrorKind::WrongVersion,
                format!(
                    "built against `{PACKAGE}@{}`; this host takes `{PACKAGE}@{}.{}.x`",
                    foreign.version, SUPPORTED.0, SUPPORTED.1
                ),
            )
            .with_hint("build the module with an SDK of this host's version"));
        }
        let fit = self.fit()?;
        let foreign: Vec<_> = self
            .imports
            .iter()
            .filter(|name| Interface::parse(name).is_none())
            .map(|name| format!("`{name}`"))
            .collect();
        if !foreign.is_empty() {
            let message = format!(
                "imports {}, which a controller may not have; it may import `{PACKAGE}` alone",
                foreign.join(", ")
            );
            return Err(Error::new(ErrorKind::ForbiddenImport, message).with_hint(
                "Rust controllers are built for wasm32-unknown-unknown; what reaches the outside belongs into a channel",
            ));
        }
        Ok(fit)
    }

    fn fit(&self) -> Result<Fit, Error> {
        let export = |name: &str| {
            self.exports
                .iter()
                .filter_map(|e| Interface::parse(e))
                .find(|i| i.name == name)
        };
        let wrong = |message: String| Err(Error::new(ErrorKind::WrongWorld, message));
        let routes = export("routes");
        let form = match (export("handlers"), export("handlers-async")) {
            (Some(_), Some(_)) => {
                return wrong(format!(
                    "exports `{PACKAGE}/handlers` and `{PACKAGE}/handlers-async`, expected one of them"
                ));
            }
            (Some(_), None) => Some(Form::Synchronous),
            (None, Some(_)) => Some(Form::Asynchronous),
            (None, None) => None,
        };
        match (routes, form) {
            (Some(routes), Some(form)) => Ok(Fit {
                form,
                version: routes.version.to_owned(),
            }),
            (routes, form) => {
                let mut missing = Vec::new();
                if routes.is_none() {
                    missing.push(format!("`{PACKAGE}/routes`"));
                }
                if form.is_none() {
                    missing.push(format!("`{PACKAGE}/handlers` (or `handlers-async`)"));
                }
                let found: Vec<_> = self.exports.iter().map(|name| format!("`{name}`")).collect();
                let found = if found.is_empty() {
                    "nothing".to_owned()
                } else {
                    found.join(", ")
                };
                let error = Error::new(
                    ErrorKind::WrongWorld,
                    format!("exports {found}, expected {}", missing.join(" and ")),
                );
                Err(error.with_hint("the component is of another world, or the file is truncated"))
            }
        }
    }
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
