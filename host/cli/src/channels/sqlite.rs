//! Events that run statements on a database.

use std::error::Error as _;
use std::sync::Arc;

use pointwork::http::StatusCode;
use pointwork::{Delivery, Failure, FailureCode, Listener, Payload};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::drivers::sqlite::Sqlite;
use crate::drivers::{self, Code};

/// Hears any event of a database's channel. Payload and result are JSON, as the driver's table says.
pub(super) fn listener(sqlite: Arc<Sqlite>, blocking: Handle) -> impl Listener {
    move |delivery: Delivery, payload: Payload| {
        let (sqlite, blocking) = (sqlite.clone(), blocking.clone());
        async move {
            let payload: Value = payload.to()?;
            let event = delivery.event().to_owned();
            let deadline = delivery.caller().deadline();
            // Dropped, the work goes on until its deadline; its result is lost.
            let work = blocking.spawn_blocking(move || sqlite.run(&event, &payload, deadline));
            match work.await {
                Ok(Ok(result)) => Payload::json(&result),
                Ok(Err(failure)) => Err(told(&delivery, &failure)),
                Err(panic) => {
                    tracing::error!(event = delivery.event(), "the database's driver panicked: {panic}");
                    Err(Failure::new(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        "the database could not do it",
                    ))
                }
            }
        }
    }
}

/// The failure as the module sees it. What the database itself said goes to the log.
fn told(delivery: &Delivery, failure: &drivers::Failure) -> Failure {
    let cause = failure.source().map(tracing::field::display);
    let (event, request_id) = (delivery.event(), delivery.request_id().map(tracing::field::display));
    if failure.code() == Code::Failed {
        tracing::error!(event, request_id, cause, "{failure}");
    } else {
        tracing::debug!(event, request_id, cause, "{failure}");
    }
    let status = StatusCode::from_u16(failure.code().status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Failure::with_code(FailureCode::new(failure.code().as_str()), status, failure.to_string())
}
