//! Warnings about the code of a module in Rust: calls of the standard library that do not work there, and controllers and
//! channels that are not part of it.
//!
//! `build` and `check` look; a server does not, since it would read each function at each load.

mod binary;
mod names;
mod std_calls;
mod unlisted;

use self::binary::CoreModule;
use crate::ui::Terminal;

/// The findings in a component's code.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Probable mistakes, a sentence each.
    pub(crate) warnings: Vec<String>,
    /// The reason why the calls of a module in Rust could not be read.
    pub(crate) unread: Option<&'static str>,
}

impl Findings {
    pub(crate) fn print(&self, terminal: &mut Terminal) {
        for warning in &self.warnings {
            terminal.warning(warning);
        }
        if let Some(reason) = self.unread {
            terminal.note(reason);
        }
    }
}

const UNREAD: &str = "the module has no names of functions, so its calls of the standard library are not checked; \
                      `strip = true` or `strip = \"symbols\"` of the cargo profile removes them, `strip = \"debuginfo\"` keeps them";

/// Reads the code of a component that [`pointwork::inspect`] accepts. Code in another language has no findings.
pub(crate) fn findings(component: &[u8]) -> Findings {
    let Some(module) = CoreModule::of(component) else {
        return Findings::default();
    };
    let mut warnings = unlisted::warnings(&module);
    let mut unread = None;
    // With WASI these calls work, as far as they are granted.
    if !module.has_wasi && module.is_rust() {
        if module.names.is_empty() {
            unread = Some(UNREAD);
        } else {
            warnings.extend(std_calls::warnings(&module));
        }
    }
    Findings { warnings, unread }
}
