//! The text of errors.

use std::fmt;

/// One line for each item, at most 20, then the number of the items left out.
pub(super) fn lines(items: &[impl fmt::Display]) -> String {
    const SHOWN: usize = 20;
    let mut lines: Vec<_> = items.iter().take(SHOWN).map(ToString::to_string).collect();
    if items.len() > SHOWN {
        lines.push(format!("and {} more", items.len() - SHOWN));
    }
    lines.join("\n")
}
