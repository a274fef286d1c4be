//! `pointwork routes`: the table of routes, without a server.

use futures_executor::block_on;

use crate::app;
use crate::config::Adapter;
use crate::error::{Error, Result};
use crate::grants::Missing;
use crate::modules::ModuleArgs;
use crate::table;
use crate::ui::Terminal;

const EXAMPLES: &str = "\
Examples:
  pointwork routes                              the routes of pointwork.toml's modules
  pointwork routes shop.wasm                    those of a component
  pointwork routes --adapter trillium           what that server makes of them
  pointwork routes --json | jq '.[].path'

Each route has method, path, origin, module, controller and handler, in the order of registration.
Without a server the origin is `decorator`: the module declares it. With one, of `--adapter` or the
configuration, it is `replay`, since the server picks the route up, and routes that it cannot serve
are marked. Nothing is listened on.";

/// The options of `pointwork routes`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    modules: ModuleArgs,

    /// The HTTP server that would serve them [default: what the configuration says, or none]
    #[arg(short, long, value_enum, value_name = "NAME")]
    adapter: Option<Adapter>,

    /// One JSON array of all routes
    #[arg(long)]
    json: bool,
}

/// Runs `pointwork routes`.
pub(crate) fn run(args: &Args, terminal: &mut Terminal) -> Result<()> {
    let config = args.modules.config()?;
    args.modules.prepare(&config, terminal)?;
    let modules = app::prepare(&config, Missing::StandIn)?;
    let app = app::create(&config, None)?;
    block_on(app::load(&app, &modules))?;
    if let Some(adapter) = args.adapter.or(config.adapter) {
        drop(adapter.connect(&app, crate::options::server(&config))?);
    }
    let routes = app.routes();
    if args.json {
        let json = serde_json::to_string_pretty(&routes)
            .map_err(|error| Error::failed("cannot write the routes as JSON").with_source(error))?;
        terminal.line(json);
    } else if routes.is_empty() {
        terminal.note("there are no routes");
    } else {
        terminal.line(table::routes(&routes));
    }
    Ok(())
}
