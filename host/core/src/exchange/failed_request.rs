//! Counts and logs a failure that ends a request.
//!
//! A failure becomes a reply in many places: a handler returns the failure, a guest sends it, the router refuses a request. Only the end
//! of the request knows that the reply is the one that the client gets. So [`failure_reply`](super::handler::failure_reply) puts a
//! [`FailedRequest`] into the extensions of the reply, and the end of the request takes it out.
//!
//! The party at fault decides the level of the line. A failure that is the client's has status 4xx, and is a line for debugging. Each
//! other failure is one line, and of many failures of one route and code within a second the first is a line, and the next line has the
//! number of the others: clients cannot fill the log. No line is written for a failure that the log has already: a crash,
//! a refusal for lack of room, or an error that a module sends, which the module logs by itself if it is not on purpose.

use http::{Extensions, StatusCode};
use tracing::{Level, Span};

use crate::events::caller::Caller;
use crate::failure_code::log_by_fault;
use crate::{Failure, FailureCode, Fault};

/// The failure behind a reply.
#[derive(Clone, Debug)]
pub(super) struct FailedRequest {
    code: FailureCode,
    fault: Fault,
    is_reported: bool,
    message: String,
    /// The event whose call failed by a mistake of the handler.
    mistaken_call: Option<String>,
}

impl FailedRequest {
    pub(super) fn of(failure: &Failure) -> Self {
        let fault = failure.fault();
        // A line for debugging is rarely written, and a copy of the message costs an allocation.
        let is_needed = fault != Fault::Client || tracing::enabled!(Level::DEBUG);
        let message = if is_needed { failure.message() } else { "" };
        Self {
            code: failure.code().clone(),
            fault,
            is_reported: failure.is_reported() || failure.code().consequences().is_logged_where_it_occurs,
            message: message.to_owned(),
            mistaken_call: failure.mistaken_call().map(str::to_owned),
        }
    }

    /// Takes the failure out of the reply to a request, and counts and logs it. `caller` and `span` are those of the request.
    pub(super) fn end(caller: &Caller, span: &Span, status: StatusCode, extensions: &mut Extensions) {
        if let Some(failed) = extensions.remove::<Self>() {
            span.in_scope(|| failed.count_and_log(caller, status));
        }
    }

    fn count_and_log(&self, caller: &Caller, status: StatusCode) {
        let Self {
            code, fault, message, ..
        } = self;
        let bus = &caller.bus;
        bus.count_failure(code, *fault);
        let Some(origin) = &caller.chain.request else {
            return;
        };
        let route = &*origin.route;
        // The code of an error that a module sends is always this one.
        let is_sent_by_module = *code == FailureCode::FAILED && route.module.is_some();
        let is_logged = *fault == Fault::Client || status.is_server_error();
        if self.is_reported || is_sent_by_module || !is_logged {
            return;
        }
        if *fault != Fault::Client && !bus.begins_burst_of_failures(code, *fault, &route.to_string()) {
            return;
        }
        log_by_fault!(
            *fault,
            code = code.as_str(),
            fault = fault.as_str(),
            module = route.module,
            %route,
            request_id = %origin.id,
            event = self.mistaken_call,
            "the request failed: {message}"
        );
    }
}
