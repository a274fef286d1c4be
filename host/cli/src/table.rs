//! Tables of text.

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use pointwork::RouteRecord;

/// Aligned columns below their titles, without rules and without white space at the ends. No row is cut or wrapped, so
/// that a table can be searched by line.
pub(crate) fn columns<const N: usize>(titles: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(titles);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

/// The table of routes (spec M3).
pub(crate) fn routes(records: &[RouteRecord]) -> String {
    columns(
        ["METHOD", "PATH", "ORIGIN", "MODULE", "HANDLER"],
        records.iter().map(|record| {
            [
                record.method.clone(),
                record.path.clone(),
                record.origin.to_string(),
                record.module.clone().unwrap_or_default(),
                handler(record),
            ]
        }),
    )
}

/// `Products.show`, and the adapters that cannot serve it.
fn handler(record: &RouteRecord) -> String {
    let names = [record.controller.as_deref(), record.handler.as_deref()];
    let mut text = names.into_iter().flatten().collect::<Vec<_>>().join(".");
    if !record.unavailable_on.is_empty() {
        text.push_str(&format!(" (not available on {})", record.unavailable_on.join(", ")));
    }
    text
}
