//! From a configuration to an application with its modules loaded.

use pointwork::routing::TrailingSlash;
use pointwork::{App, AppOptions, ErrorKind};

use crate::config::{self, Config, Module};
use crate::error::{Error, Result};

/// An application with what the configuration says, its modules aside.
///
/// # Errors
///
/// Its threads do not start.
pub(crate) fn create(config: &Config) -> Result<App> {
    let app = App::with_options(options(config))?;
    if let Some(prefix) = &config.prefix {
        app.set_global_prefix(prefix.as_str())?;
    }
    Ok(app)
}

/// Loads the modules in their order (spec D9).
///
/// # Errors
///
/// A component cannot be read, or is refused.
pub(crate) async fn load(app: &App, modules: &[Module]) -> Result<()> {
    for module in modules {
        app.load_file(&module.name, &module.path)
            .await
            .map_err(|error| match error.kind() {
                ErrorKind::Read => error.into(),
                _ => Error::refused(
                    format!("module `{}` from `{}` is refused", module.name, module.path.display()),
                    error,
                ),
            })?;
    }
    Ok(())
}

fn options(config: &Config) -> AppOptions {
    let mut options = AppOptions::default();
    if let Some(trailing_slash) = config.trailing_slash {
        options.router.table = options.router.table.trailing_slash(match trailing_slash {
            config::TrailingSlash::Distinct => TrailingSlash::Distinct,
            config::TrailingSlash::Match => TrailingSlash::Match,
        });
    }
    let limits = &config.limits;
    if let Some(deadline) = limits.request_deadline {
        options.router.deadline = Some(deadline);
    }
    if let Some(body) = limits.body {
        options.router.body_limit = body;
    }
    if let Some(memory) = limits.memory {
        options.limits.memory = usize::try_from(memory).unwrap_or(usize::MAX);
        options.max_memory = options.max_memory.max(options.limits.memory);
    }
    if let Some(instances) = limits.instances {
        options.limits.instances = instances;
        // The pool must have room for every module's instances at a time.
        let room = u32::try_from(instances.saturating_mul(config.modules.len().max(1))).unwrap_or(u32::MAX);
        options.max_instances = options.max_instances.max(room);
    }
    if let Some(in_flight) = limits.in_flight {
        options.limits.in_flight = in_flight;
    }
    if let Some(wait) = limits.queue_wait {
        options.limits.queue_wait = wait;
    }
    options
}
