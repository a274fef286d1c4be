//! Tables of text.

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use pointwork::{ChannelInfo, ModuleInfo, RouteRecord};
use pointwork_core::one_line;

/// Aligned columns below their titles, without rules and without white space at the ends. No row is cut or wrapped, so
/// that a table can be searched by line.
pub(crate) fn columns<const N: usize>(titles: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(titles);
    for row in rows {
        table.add_row(row.map(|cell| one_line(&cell, usize::MAX).to_string()));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

/// The table of routes (spec M3). The module says where a route comes from; the two origins of a module's route differ
/// only in whether the module or the server came first, so the table does not have them.
/// There is a column of guards if a route has one.
pub(crate) fn routes(records: &[RouteRecord], modules: &[ModuleInfo]) -> String {
    let guards: Vec<_> = records
        .iter()
        .map(|record| guards(record, modules).join(", "))
        .collect();
    let has_guards = guards.iter().any(|guards| !guards.is_empty());
    columns(
        [
            "METHOD",
            "PATH",
            "MODULE",
            "HANDLER",
            if has_guards { "GUARDS" } else { "" },
        ],
        records.iter().zip(guards).map(|(record, guards)| {
            [
                record.method.clone(),
                record.path.clone(),
                record.module.clone().unwrap_or_default(),
                handler(record),
                guards,
            ]
        }),
    )
}

/// The names of the guards of a route, in the order in which they run, as its module declares them.
pub(crate) fn guards<'a>(record: &RouteRecord, modules: &'a [ModuleInfo]) -> Vec<&'a str> {
    let module = modules
        .iter()
        .find(|module| Some(&module.name) == record.module.as_ref());
    let controllers = module.iter().flat_map(|module| &module.controllers);
    let controllers = controllers.filter(|controller| Some(&controller.name) == record.controller.as_ref());
    let mut handlers = controllers.flat_map(|controller| &controller.handlers);
    let handler = handlers.find(|handler| Some(&handler.name) == record.handler.as_ref());
    let metadata = handler.iter().flat_map(|handler| &handler.metadata);
    let guards = metadata.filter(|(key, _)| key == "guard");
    guards.map(|(_, name)| name.as_str()).collect()
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

/// The tables of the channels and of the events that modules use, where there are any. `channels` are rows of native
/// channels: name, driver and events.
pub(crate) fn events(mut channels: Vec<[String; 3]>, modules: &[ModuleInfo]) -> Vec<String> {
    for module in modules {
        let row = |channel: &ChannelInfo| {
            let driver = format!("module {}", module.name);
            [channel.name.clone(), driver, channel.events.join(", ")]
        };
        channels.extend(module.channels.iter().map(row));
    }
    let using = modules.iter().filter(|module| !module.events_used.is_empty());
    let using: Vec<_> = using
        .map(|module| [module.name.clone(), module.events_used.join(", ")])
        .collect();
    let mut tables = Vec::new();
    if !channels.is_empty() {
        tables.push(columns(["CHANNEL", "DRIVER", "EVENTS"], channels));
    }
    if !using.is_empty() {
        tables.push(columns(["MODULE", "EVENTS USED"], using));
    }
    tables
}
