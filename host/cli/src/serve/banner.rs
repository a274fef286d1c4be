//! The banner of `serve`.

use pointwork::{App, ModuleInfo};
use pointwork_config::{Adapter, Channels};

use crate::table;
use crate::ui::{STRONG, styled};

/// A table of the routes, the channels, the events used and the capabilities, where there are any.
pub(super) fn text(adapter: Adapter, app: &App, channels: &Channels) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("pointwork {version}");
    let mut text = format!("{} on {adapter}\n\n", styled(STRONG, name));
    let (routes, modules) = (app.routes(), app.modules());
    if !routes.is_empty() {
        text.push_str(&format!("{}\n\n", table::routes(&routes, &modules)));
    }
    for table in table::events(channels.rows(), &modules) {
        text.push_str(&format!("{table}\n\n"));
    }
    let rows: Vec<_> = modules.iter().filter_map(capabilities).collect();
    if !rows.is_empty() {
        let table = table::columns(["MODULE", "ASKS", "GRANTED"], rows);
        text.push_str(&format!("{table}\n\n"));
    }
    text
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
