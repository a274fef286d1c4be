//! `pointwork routes`: the table of routes, without a server.

use futures_executor::block_on;
use pointwork::{ModuleInfo, RouteRecord};
use pointwork_config::{Adapter, Missing};
use serde::Serialize;

use crate::adapters;
use crate::app;
use crate::error::{OrFailed, Result};
use crate::modules::{self, ModuleArgs};
use crate::table;
use crate::ui::Terminal;

const EXAMPLES: &str = "\
Examples:
  pointwork routes                              the routes of the modules in pointwork.toml
  pointwork routes shop.wasm                    those of a component
  pointwork routes --adapter trillium           the routes on that server
  pointwork routes --json | jq '.[].path'

Each route has method, path, module, controller and handler, in the order of registration. Routes
that the server of `--adapter` or the configuration cannot serve are marked. Tables of the modules'
channels and of the events that they use follow, but not as JSON. The command does not listen.

A column has the guards of each route, where a module declares some.

In JSON a route has an `origin` too: `replay` if its module was loaded before the server that has
registered it, as in `pointwork serve`; `decorator` if the module was loaded after it, or there is
no server; `manual` if the program registered the route and no module declares it, which only
a program with the library does.";

/// The options of `pointwork routes`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct RoutesArgs {
    #[command(flatten)]
    modules: ModuleArgs,

    /// HTTP server for the routes [default: that of the configuration, or none]
    #[arg(short, long, value_parser = adapters::parser(), value_name = "NAME")]
    adapter: Option<Adapter>,

    /// Print the routes as a JSON array
    #[arg(long)]
    json: bool,
}

/// A route with the guards that its module declares.
#[derive(Serialize)]
struct Guarded<'a> {
    #[serde(flatten)]
    route: &'a RouteRecord,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    guards: Vec<&'a str>,
}

impl<'a> Guarded<'a> {
    fn new(route: &'a RouteRecord, modules: &'a [ModuleInfo]) -> Self {
        Self {
            route,
            guards: table::guards(route, modules),
        }
    }
}

pub(crate) fn run(args: &RoutesArgs, terminal: &mut Terminal) -> Result<()> {
    let config = args.modules.config()?;
    args.modules.prepare(&config, terminal)?;
    let modules = app::prepare(&config, Missing::StandIn)?;
    let app = app::create(&config, None)?;
    block_on(app::load(&app, &modules, &config))?;
    if let Some(adapter) = args.adapter.or(config.adapter) {
        drop(adapters::connect(adapter, &app, config.server_options())?);
    }
    let routes = app.routes();
    let modules = app.modules();
    if args.json {
        let guarded: Vec<_> = routes.iter().map(|route| Guarded::new(route, &modules)).collect();
        let json = serde_json::to_string_pretty(&guarded).or_failed("cannot write the routes as JSON")?;
        terminal.line(json);
        return Ok(());
    }
    if !routes.is_empty() {
        terminal.line(table::routes(&routes, &modules));
    }
    modules::explain_no_routes(&config, &app, terminal);
    for table in table::events(Vec::new(), &modules) {
        terminal.line(format_args!("\n{table}"));
    }
    Ok(())
}
