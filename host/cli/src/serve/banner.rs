//! The banner of `serve`.

use pointwork::{App, ModuleInfo};

use crate::channels::Channels;
use crate::config::Adapter;
use crate::table;
use crate::ui::{STRONG, Terminal, styled};

/// Prints a table of the routes, the channels, the events used and the capabilities, where there are any.
pub(super) fn print(adapter: Adapter, app: &App, channels: &Channels, terminal: &mut Terminal) {
    let version = env!("CARGO_PKG_VERSION");
    terminal.line(format_args!(
        "{} on {adapter}\n",
        styled(STRONG, format_args!("pointwork {version}"))
    ));
    let routes = app.routes();
    if !routes.is_empty() {
        terminal.line(format_args!("{}\n", table::routes(&routes)));
    }
    let modules = app.modules();
    for table in table::events(channels.rows(), &modules) {
        terminal.line(format_args!("{table}\n"));
    }
    let rows: Vec<_> = modules.iter().filter_map(capabilities).collect();
    if !rows.is_empty() {
        terminal.line(format_args!(
            "{}\n",
            table::columns(["MODULE", "ASKS", "GRANTED"], rows)
        ));
    }
}

/// A row for a module with imports or grants (spec C5).
fn capabilities(module: &ModuleInfo) -> Option<[String; 3]> {
    let asks: Vec<String> = module.capabilities.iter().map(ToString::to_string).collect();
    let text = |list: &[String], separator| {
        if list.is_empty() {
            "nothing".to_owned()
        } else {
            list.join(separator)
        }
    };
    // Grants contain commas.
    let row = || [module.name.clone(), text(&asks, ", "), text(&module.granted, "; ")];
    (!asks.is_empty() || !module.granted.is_empty()).then(row)
}
