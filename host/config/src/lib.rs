//! Reads `pointwork.toml`, the configuration of [`pointwork`], for the command and for programs that embed an application.
//!
//! A [`Config`] is a file, or the settings that a program gives as JSON with the same keys, units and checks. Its methods
//! make the options of the application, of its modules and of the server.
//!
//! ```
//! use pointwork::App;
//! use pointwork_config::Config;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = r#"{ "prefix": "/api", "limits": { "memory": "64MiB" }, "cache": { "enabled": false } }"#;
//! let config = Config::from_json(settings)?;
//! let mut options = config.app_options();
//! options.cache = config.open_cache()?;
//! options.state = config.open_state()?;
//! let app = App::with_options(options)?;
//! if let Some(prefix) = &config.prefix {
//!     app.set_global_prefix(prefix.as_str())?;
//! }
//! let products = config.module_from_json("products", r#"{ "memory": "16MiB", "grant": { "clocks": true } }"#)?;
//! let products = app.module("products").file("products.wasm").options(products);
//! # drop(products);
//!
//! let error = Config::from_json(r#"{ "limits": { "queue-wait": 30 } }"#).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "`30` is invalid for `queue-wait`: expected a time above 0 and up to 100 years with its unit, as in \"30s\" or \"1m 30s\" \
//!      in `limits.queue-wait` of the settings"
//! );
//! # Ok(())
//! # }
//! ```
//!
//! # The file
//!
//! ```toml
//! listen = "127.0.0.1:8080"     # port 0 is a free one
//! adapter = "hyper"
//! prefix = "/api"               # before every path
//! trailing-slash = "distinct"   # or "match": /products/ is the same as /products
//! watch = false                 # swap a component when its file changes
//! access-log = false            # log each request
//! trusted-proxies = ["10.0.0.0/8"] # `Forwarded` and `X-Forwarded-…` of these addresses are believed; default: none
//!
//! [[module]]                    # routes are listed in the order of the modules
//! name = "products"             # default: the file's name without `.wasm`
//! path = "target/pointwork/products.wasm"
//! build = "controllers"         # the folder of its sources, to build it from
//!
//! [[module]]
//! path = "target/pointwork/store.wasm"
//! build = "store"
//! target = "wasm32-wasip2"      # of the Rust compiler; default: wasm32-wasip1
//! memory = "256MiB"             # limits in place of those in [limits]
//! breaker = { crashes = 5 }
//! isolation = "exclusive"       # or "shared", "fresh"; by default the first that the component's form allows
//! health = "/health"            # a route of the module that is requested before a version is published
//! digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
//! channels = ["product"]        # a change of this module may alter what names of events of these channels reach
//!
//! [module.grant]                # of the module above; default: nothing
//! clocks = true                 # the time of day
//! random = true
//! output = true                 # standard output and error, to the log
//! environment = true            # the variables below, for the standard library of wasm32-wasip2
//! directories = [{ host = "data", guest = "/data", access = "read-write" }]
//! sockets = ["127.0.0.1:5432", "db.internal:5432"]
//! http = ["api.example.com", "127.0.0.1:8080"]
//!
//! [module.variables]            # of the module above; default: none
//! STORE_DIR = "/data"
//! TOKEN = { env = "SHOP_TOKEN" } # the value of an environment variable of the server
//! KEY = { file = "key.pem" }    # the text of a file
//!
//! [limits]                      # of all modules; every key is listed in docs/limits.md
//! memory = "64MiB"
//! queue-wait = "1s"
//! breaker = { crashes = 20, pause = "100ms", longest = "30s" }
//! request-deadline = "1m 30s"
//!
//! [admin]                       # default: no admin endpoint
//! socket = "admin.sock"         # or an address with a token: listen = "127.0.0.1:9090"
//! # token-file = "admin.token"
//!
//! [state]                       # default: nothing is kept
//! directory = "state"           # the current version of each module, and the components
//!
//! [cache]
//! enabled = true
//! directory = "cache"           # default: `cache` in the state directory, or ~/.cache/pointwork
//!
//! [compile]                     # limits of compiling
//! memory = "2GiB"
//!
//! [channels.db]
//! driver = "sqlite"
//! path = "products.sqlite"
//! schema = "schema.sql"
//!
//! [channels.db.on."product:one"]
//! query-one = "SELECT id, name FROM products WHERE id = :id"
//!
//! [nats]                        # for channels elsewhere, and the store of that name
//! servers = ["tls://nats-1:4222"]
//! credentials-file = "shop.creds"
//! prefix = "shop"               # of every name in the server; default: "pointwork"
//!
//! [channels.stock]              # its listeners are in another process
//! driver = "nats"
//! on = ["item:reserve"]
//!
//! [[serve]]                     # this process answers calls of others for the channel
//! channel = "mail"
//! at-once = 16
//!
//! [journal]                     # the file of durable events
//! path = "events.sqlite"        # default: `events.sqlite` in the state directory
//! max-size = "1GiB"
//!
//! [durable.mail]                # default: the emits of a channel are lost with the process
//! store = "sqlite"              # or "nats"
//! order = "key"                 # or "channel", the default, or "none"
//! key = "/order/id"             # with `order = "key"`: a place in the payload
//! partitions = 16               # with `order = "key"`
//! id = "/order/id"              # default: the host makes an id
//! attempts = 8
//! backoff = ["1s", "10s", "1m"]
//! duplicates = "1h"
//! confirm = "5s"
//! dead-letters = 10000
//! ```
//!
//! # Grants
//!
//! A module may import the contract and what `[module.grant]` grants (spec C5). A module that imports more is refused.
//!
//! | key | grants |
//! |---|---|
//! | `clocks` | the time of day, and a monotonic clock |
//! | `random` | random numbers |
//! | `output` | standard output and error, written to the log line by line |
//! | `environment` | the [variables](#variables) of the module, as environment variables |
//! | `directories` | the directory `host` at the absolute path `guest`; `access` is `read-only` (the default) or `read-write` |
//! | `sockets` | TCP connections to these hosts and ports; a name is resolved for each connection |
//! | `http` | HTTP requests to these hosts; without a port, to the default port of the scheme |
//!
//! An empty list grants the interface alone, for a module that imports it but does not need it. A directory with
//! `read-write` is created when the server starts; a directory with `read-only` must exist.
//!
//! # Variables
//!
//! `[module.variables]` is the configuration of a module, which controllers have as well as channels: constants of a version.
//! The values of `{ env = "NAME" }` and `{ file = "PATH" }` are read when a version is made: at a load, a swap, a roll-back and a
//! restart. A value that is missing refuses the change, and the error names the variable. The one line end that a file may end with
//! is left out. At most 256 variables have names and values of 256 KiB together.
//!
//! # Rules
//!
//! Keys are in kebab case. Paths are relative to the file. Times are written `30s` or `1m 30s`, sizes `2MiB` (2,097,152
//! bytes) or `2MB` (2,000,000 bytes). An unknown key is an error. Every error names file, line and column; in the
//! settings of a program, whose paths are relative to the current directory, it names the key.

#![forbid(unsafe_code)]

mod channels;
mod directories;
mod error;
mod file;
mod grants;
mod options;
pub mod suggest;

pub use self::channels::Channels;
pub use self::error::{Error, ErrorKind, Result};
pub use self::file::{Adapter, Admin, AdminAddress, Cache, Config, FILE_NAME, Listen, Module, Prefix};
pub use self::grants::{Missing, StandIns};
