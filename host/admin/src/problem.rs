//! The replies to requests that fail.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use pointwork::{ErrorKind, Failure, FailureCode};
use serde::{Deserialize, Serialize};

/// The body of every reply with a status of 400 or more, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProblemReport {
    /// One sentence.
    pub message: String,
    /// Its causes, the nearest first.
    #[serde(default)]
    pub causes: Vec<String>,
    /// The remedy, if it is known. It may have several lines.
    #[serde(default)]
    pub hint: Option<String>,
}

/// A [`ProblemReport`] with its status.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    report: ProblemReport,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            report: ProblemReport {
                message: message.into(),
                causes: Vec::new(),
                hint: None,
            },
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.report.hint = Some(hint.into());
        self
    }
}

impl From<pointwork::Error> for Problem {
    fn from(error: pointwork::Error) -> Self {
        let mut problem = Self::new(status(error.kind()), error.to_string());
        problem.report.hint = error.hint().map(str::to_owned);
        problem.report.causes = pointwork_core::causes(&error).map(ToString::to_string).collect();
        problem
    }
}

fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Refused => StatusCode::CONFLICT,
        ErrorKind::NotAComponent
        | ErrorKind::WrongWorld
        | ErrorKind::WrongVersion
        | ErrorKind::ForbiddenImport
        | ErrorKind::Compile
        | ErrorKind::Probe => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::Closed => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.report)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            // The time after which a retry may succeed follows from the same table as in replies of the application.
            let busy = Failure::of(FailureCode::OVERLOADED, String::new());
            response.headers_mut().extend(busy.headers().clone());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_names_the_time_of_a_retry_where_one_helps() {
        let retry = |status| {
            let response = Problem::new(status, "a problem").into_response();
            response.headers().get(header::RETRY_AFTER).cloned()
        };
        assert_eq!(retry(StatusCode::SERVICE_UNAVAILABLE).unwrap(), "1");
        assert_eq!(retry(StatusCode::CONFLICT), None);
    }
}
