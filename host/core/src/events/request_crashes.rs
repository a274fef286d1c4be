//! The crashes of a request and the errors that modules logged, for a reply that shows them.

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::Crash;
use crate::routing::RouteRecord;

/// The number of crashes and errors of one request that its reply shows.
const MOST_SHOWN: usize = 8;

/// The crashes and the logged errors of one request, for a reply that [shows](crate::RouterOptions::show_crashes) them.
#[derive(Debug, Default)]
pub(crate) struct RequestCrashes(Mutex<Vec<ShownCrash>>);

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct ShownCrash {
    /// That of a crash, or `error`.
    kind: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    /// The event whose listener failed; `None` for the handler of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    /// The message, line by line: in JSON, a text with line breaks cannot be read.
    message: Vec<String>,
}

#[derive(Serialize)]
struct ShownError<'a> {
    #[serde(flatten)]
    body: Map<String, Value>,
    route: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    handler: Option<String>,
    crashes: &'a [ShownCrash],
    /// The lines of what is wrong beside them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notice: Vec<&'a str>,
}

impl RequestCrashes {
    pub(crate) fn add(&self, event: Option<&str>, crash: &Crash) {
        self.push(ShownCrash {
            kind: json!(crash.kind),
            module: crash.module.clone(),
            event: event.map(str::to_owned),
            limit: crash.limit.clone(),
            message: crash.message.lines().map(str::to_owned).collect(),
        });
    }

    /// Adds an error that a module logged.
    pub(crate) fn add_error(&self, event: Option<&str>, module: &str, message: &str) {
        self.push(ShownCrash {
            kind: json!("error"),
            module: Some(module.to_owned()),
            event: event.map(str::to_owned),
            limit: None,
            message: vec![message.to_owned()],
        });
    }

    fn push(&self, crash: ShownCrash) {
        let mut crashes = self.0.lock();
        if crashes.len() < MOST_SHOWN {
            crashes.push(crash);
        }
    }

    /// The body of an error with the crashes and the notice in it; `None` without both, and for a body that is not a JSON
    /// object.
    pub(crate) fn shown_in(&self, body: &[u8], route: &RouteRecord, notice: Option<&str>) -> Option<Vec<u8>> {
        let crashes = self.0.lock();
        let is_empty = crashes.is_empty() && notice.is_none();
        let body: Map<String, Value> = serde_json::from_slice(body).ok().filter(|_| !is_empty)?;
        let handler = route.controller.as_ref().zip(route.handler.as_ref());
        let shown = ShownError {
            body,
            route: route.to_string(),
            handler: handler.map(|(controller, handler)| format!("{controller}.{handler}")),
            crashes: &crashes,
            notice: notice.unwrap_or_default().lines().collect(),
        };
        let mut shown = serde_json::to_vec_pretty(&shown).ok()?;
        shown.push(b'\n');
        Some(shown)
    }
}
