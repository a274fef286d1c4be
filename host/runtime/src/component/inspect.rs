//! Looking at a component from outside, before anything of it runs.

use std::collections::BTreeSet;
use std::fmt;

use wasmparser::{CanonicalFunction, CanonicalOption, Encoding, Parser, Payload};

use crate::{Capability, Error, ErrorKind, Grants};

/// The package of the contract.
const PACKAGE: &str = "pointwork:module";

/// The minor line of the contract that this host speaks: it takes every module of a 0.1.x.
const SUPPORTED: (u64, u64) = (0, 1);

/// Which form of handlers and listeners a module exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// `handlers`, `listeners`: an instance serves one call at a time.
    Synchronous,
    /// `handlers-async`, `listeners-async`: an instance may have several calls in flight.
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
    /// Whether any of its functions is lifted as one that gives way while it waits. A module of the asynchronous form may
    /// have none: a language without async satisfies the type with code that waits in place.
    pub(crate) takes_several: bool,
}

/// What the host can serve of a component that fits the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fit {
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
        takes_several: false,
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
            Payload::ComponentCanonicalSection(section) => {
                for function in section {
                    if let CanonicalFunction::Lift { options, .. } = function.map_err(broken)? {
                        inspection.takes_several |= options.contains(&CanonicalOption::Async);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(inspection)
}

impl Inspection {
    /// What it imports beyond the contract and has to be granted, each once.
    pub fn asks(&self) -> Vec<Capability> {
        let asked = self
            .foreign()
            .filter_map(|import| Capability::of(import).ok().flatten());
        asked.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Whether the host can serve it with what it is granted (spec C5).
    ///
    /// # Errors
    /// [`WrongVersion`](ErrorKind::WrongVersion), [`WrongWorld`](ErrorKind::WrongWorld) and
    /// [`ForbiddenImport`](ErrorKind::ForbiddenImport); each names what was found and what was expected, and the last one
    /// has the lines to add as its hint.
    pub fn verdict(&self, grants: &Grants) -> Result<Fit, Error> {
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
        self.check_imports(grants)?;
        Ok(fit)
    }

    /// The imports from outside the contract.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = &str> {
        let names = self.imports.iter().map(String::as_str);
        names.filter(|name| Interface::parse(name).is_none())
    }

    fn check_imports(&self, grants: &Grants) -> Result<(), Error> {
        let listed = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        };
        let unknown: Vec<_> = self
            .foreign()
            .filter(|import| Capability::of(import).is_err())
            .collect();
        if !unknown.is_empty() {
            let message = format!(
                "imports {}, which no module may have; it may import `{PACKAGE}`, and of WASI 0.2 what it is granted",
                listed(&unknown)
            );
            return Err(Error::new(ErrorKind::ForbiddenImport, message).with_hint(
                "Rust controllers are built for wasm32-unknown-unknown, channels that need WASI for wasm32-wasip2",
            ));
        }
        let missing: Vec<_> = self.asks().into_iter().filter(|&ask| !grants.has(ask)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let ungranted = |import: &&str| matches!(Capability::of(import), Ok(Some(ask)) if missing.contains(&ask));
        let ungranted: Vec<_> = self.foreign().filter(ungranted).collect();
        let lines: Vec<_> = missing.iter().map(|capability| capability.line()).collect();
        let message = format!("imports {}, which it was not granted", listed(&ungranted));
        Err(Error::new(ErrorKind::ForbiddenImport, message).with_hint(format!(
            "what a module may reach stands below its [[module]]; this grants the interfaces, with nothing behind them:\n\n\
             [module.grant]\n{}\n\n\
             a controller needs none: Rust controllers are built for wasm32-unknown-unknown",
            lines.join("\n")
        )))
    }

    fn fit(&self) -> Result<Fit, Error> {
        let controllers = self.part("routes", "handlers")?;
        let channels = self.part("channels", "listeners")?;
        let found = || {
            let found: Vec<_> = self.exports.iter().map(|name| format!("`{name}`")).collect();
            if found.is_empty() {
                "nothing".to_owned()
            } else {
                found.join(", ")
            }
        };
        let (form, version) = match (&controllers, &channels) {
            (Some((one, _)), Some((other, _))) if one != other => {
                let message = format!("exports {}, expected handlers and listeners of one form", found());
                return Err(Error::new(ErrorKind::WrongWorld, message));
            }
            (Some(part), _) | (None, Some(part)) => part,
            (None, None) => {
                let expected = |declares: &str, runs: &str| {
                    format!("`{PACKAGE}/{declares}` and `{PACKAGE}/{runs}` (or `{runs}-async`)")
                };
                let message = format!(
                    "exports {}, expected {}, or {}",
                    found(),
                    expected("routes", "handlers"),
                    expected("channels", "listeners")
                );
                return Err(Error::new(ErrorKind::WrongWorld, message)
                    .with_hint("the component is of another world, or the file is truncated"));
            }
        };
        Ok(Fit {
            form: *form,
            version: version.clone(),
            controllers: controllers.is_some(),
            channels: channels.is_some(),
        })
    }

    /// The form and the version of one kind: an interface that declares, and one of two that run what it declares.
    fn part(&self, declares: &str, runs: &str) -> Result<Option<(Form, String)>, Error> {
        let export = |name: &str| {
            let mut interfaces = self.exports.iter().filter_map(|export| Interface::parse(export));
            interfaces.find(|interface| interface.name == name)
        };
        let wrong = |message: String| Err(Error::new(ErrorKind::WrongWorld, message));
        let waiting = format!("{runs}-async");
        let form = match (export(runs), export(&waiting)) {
            (Some(_), Some(_)) => {
                return wrong(format!(
                    "exports `{PACKAGE}/{runs}` and `{PACKAGE}/{waiting}`, expected one of them"
                ));
            }
            (Some(_), None) => Some(Form::Synchronous),
            (None, Some(_)) => Some(Form::Asynchronous),
            (None, None) => None,
        };
        let missing = match (export(declares), form) {
            (Some(declares), Some(form)) => return Ok(Some((form, declares.version.to_owned()))),
            (None, None) => return Ok(None),
            (None, Some(_)) => format!("`{PACKAGE}/{declares}`"),
            (Some(_), None) => format!("`{PACKAGE}/{runs}` (or `{waiting}`)"),
        };
        let found: Vec<_> = self.exports.iter().map(|name| format!("`{name}`")).collect();
        let error = Error::new(
            ErrorKind::WrongWorld,
            format!("exports {}, expected {missing} as well", found.join(", ")),
        );
        Err(error.with_hint("the component is of another world, or the file is truncated"))
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
