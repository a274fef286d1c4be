//! Crashes on their way to the log and to `server:crashed` (spec E1).

use pointwork_events::Event;
use serde::Serialize;

use super::Payload;
use super::bursts::MAX_CRASH_LINE;
use super::bus::{Bus, LiveBus};
use super::chain::Chain;
use crate::crash::{SERVER_CHANNEL, ServerCrashed};
use crate::routing::paragraph;
use crate::{Crash, CrashKind};

/// Reports failures of one adapter: one line in the log and one `server:crashed` each, never an error at the route
/// (spec E1).
///
/// An adapter gets its reporter with [`Transport::attach`](crate::Transport::attach).
#[derive(Clone, Debug)]
pub struct Reporter {
    adapter: &'static str,
    bus: Bus,
}

impl Reporter {
    /// Reports a failure of the adapter itself: a socket error, a port in use.
    pub fn adapter_failed(&self, message: impl Into<String>) {
        self.report(Crash::new(CrashKind::Adapter, message));
    }

    /// Reports any crash; the adapter's name is filled in.
    pub fn report(&self, mut crash: Crash) {
        crash.adapter = Some(self.adapter.to_owned());
        self.bus.report(crash);
    }
}

impl Bus {
    /// A reporter for the adapter of that name.
    pub fn reporter(&self, adapter: &'static str) -> Reporter {
        Reporter {
            adapter,
            bus: self.clone(),
        }
    }

    /// Logs a crash and emits it as `server:crashed`.
    pub fn report(&self, crash: Crash) {
        self.live().report(crash);
    }

    /// Emits an event of the server's own, on the channel `server`, to every listener that it has. An event that cannot
    /// be emitted is an error in the log.
    pub fn announce<E: Event>(&self, payload: &E::Payload)
    where
        E::Payload: Serialize,
    {
        self.live().announce::<E>(payload);
    }
}

impl LiveBus {
    fn report(&self, mut crash: Crash) {
        if crash.message.len() > MAX_CRASH_LINE {
            let cut = paragraph(&crash.message, MAX_CRASH_LINE).to_string();
            crash.message = cut;
        }
        self.log(&crash);
        self.announce::<ServerCrashed>(&crash);
    }

    /// Reports a crash at the end of a chain, with the request that began it; `event` is that of its listener. A crash that a
    /// listener of the server's own events causes is only logged: it must not cause another such event.
    pub(crate) fn report_in(&self, chain: &Chain, event: Option<&str>, mut crash: Crash) {
        if let Some(request) = &chain.request {
            crash.request_id.get_or_insert_with(|| request.id.to_string());
            crash.route.get_or_insert_with(|| request.route.to_string());
            crash.adapter = crash.adapter.or_else(|| request.adapter.map(str::to_owned));
            if let Some(crashes) = &request.crashes {
                crashes.add(event, &crash);
            }
        }
        if chain.is_of_server() {
            self.log(&crash);
        } else {
            self.report(crash);
        }
    }

    fn announce<E: Event>(&self, payload: &E::Payload)
    where
        E::Payload: Serialize,
    {
        let event = E::NAME.strip_prefix("server:").unwrap_or(E::NAME);
        match Payload::json(payload) {
            Ok(payload) => self.emit_as_server(event, payload),
            Err(failure) => tracing::error!("`{SERVER_CHANNEL}:{event}` was not emitted: {failure}"),
        }
    }
}
