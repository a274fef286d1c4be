//! Conditional requests (RFC 9110, section 13).

use std::time::{Duration, SystemTime};

use http::StatusCode;

use crate::extract::FromRequest;
use crate::failure::Failure;
use crate::reply::{IntoReply, Reply, ReplyParts};
use crate::request::Request;

/// The tag of one version of what a path shows: the header `etag` as a part of a reply, and what [`Conditions`] compares.
///
/// ```
/// use pointwork_guest::ETag;
///
/// fn current() -> (ETag, &'static str) {
///     (ETag::strong("v7"), "tea")
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETag {
    is_weak: bool,
    tag: String,
}

impl ETag {
    /// A tag that changes with every byte of the reply. The text has no quotation marks, spaces or control characters; a
    /// tag with one of these makes the reply 500 with the code `invalid-reply`.
    pub fn strong(tag: impl Into<String>) -> Self {
        Self {
            is_weak: false,
            tag: tag.into(),
        }
    }

    /// A tag that changes with the meaning of the reply, and may stay if only its bytes change.
    pub fn weak(tag: impl Into<String>) -> Self {
        Self {
            is_weak: true,
            ..Self::strong(tag)
        }
    }

    fn text(&self) -> String {
        let weak = if self.is_weak { "W/" } else { "" };
        // A quotation mark would end the tag. A newline makes the header invalid, and the reply `invalid-reply`.
        let is_wrong = |c: char| c == '"' || c <= ' ' || c == '\x7f';
        format!("{weak}\"{}\"", self.tag.replace(is_wrong, "\n"))
    }

    /// Whether a list of tags has this one, by weak or strong comparison. What follows a mistake in the list does not count.
    fn is_in(&self, list: &str, is_strong: bool) -> bool {
        if list.trim() == "*" {
            return true;
        }
        let between = |c: char| matches!(c, ' ' | '\t' | ',');
        let mut rest = list.trim_start_matches(between);
        // A tag may have a comma, so the list is not split at commas.
        while !rest.is_empty() {
            let (is_weak, quoted) = rest.strip_prefix("W/").map_or((false, rest), |rest| (true, rest));
            let Some((tag, after)) = quoted.strip_prefix('"').and_then(|tag| tag.split_once('"')) else {
                return false;
            };
            if !after.is_empty() && !after.starts_with(between) {
                return false;
            }
            if tag == self.tag && !(is_strong && (is_weak || self.is_weak)) {
                return true;
            }
            rest = after.trim_start_matches(between);
        }
        false
    }
}

impl ReplyParts for ETag {
    fn add_to(self, reply: Reply) -> Reply {
        reply.header("etag", self.text())
    }
}

/// When what a path shows changed last: the header `last-modified` as a part of a reply, and what [`Conditions`] compares.
/// HTTP has whole seconds, of the years 1970 to 9998: another time makes the reply 500 with the code `invalid-reply`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastModified(pub SystemTime);

/// The beginning of that year, in seconds since 1970.
const YEAR_9999: u64 = 253_370_764_800;

impl ReplyParts for LastModified {
    fn add_to(self, reply: Reply) -> Reply {
        let since = self.0.duration_since(SystemTime::UNIX_EPOCH);
        let is_writable = since.is_ok_and(|since| since.as_secs() < YEAR_9999);
        // A newline makes the header invalid, and the reply `invalid-reply`.
        let value = if is_writable {
            httpdate::fmt_http_date(self.0)
        } else {
            "\n".to_owned()
        };
        reply.header("last-modified", value)
    }
}

/// The validators of the present version: an [`ETag`], a [`LastModified`], or both as a tuple.
pub trait Validators: ReplyParts {
    #[doc(hidden)]
    fn etag(&self) -> Option<&ETag>;

    #[doc(hidden)]
    fn last_modified(&self) -> Option<SystemTime>;
}

impl Validators for ETag {
    fn etag(&self) -> Option<&ETag> {
        Some(self)
    }

    fn last_modified(&self) -> Option<SystemTime> {
        None
    }
}

impl Validators for LastModified {
    fn etag(&self) -> Option<&ETag> {
        None
    }

    fn last_modified(&self) -> Option<SystemTime> {
        Some(self.0)
    }
}

impl ReplyParts for (ETag, LastModified) {
    fn add_to(self, reply: Reply) -> Reply {
        self.1.add_to(self.0.add_to(reply))
    }
}

impl Validators for (ETag, LastModified) {
    fn etag(&self) -> Option<&ETag> {
        Some(&self.0)
    }

    fn last_modified(&self) -> Option<SystemTime> {
        Some(self.1.0)
    }
}

/// The conditions of the request, an argument of a handler: `if-match`, `if-none-match`, `if-modified-since` and
/// `if-unmodified-since`, as RFC 9110 says. A date that is malformed is no condition.
///
/// ```
/// use pointwork_guest::testing::TestRequest;
/// use pointwork_guest::{Conditions, ETag, Failure, Json, Unmodified, controller};
///
/// struct Stock;
///
/// #[controller("stock")]
/// impl Stock {
///     #[get]
///     fn show(conditions: Conditions) -> Unmodified<Json<u32>> {
///         conditions.reply(ETag::strong("v7"), || Json(12))
///     }
///
///     #[put]
///     fn change(conditions: Conditions, count: Json<u32>) -> Result<(ETag, Json<u32>), Failure> {
///         conditions.require(&ETag::strong("v7"))?;
///         Ok((ETag::strong("v8"), count))
///     }
/// }
///
/// let answer = TestRequest::get("/stock").run::<Stock>();
/// assert_eq!((answer.status(), answer.header("etag").as_deref()), (200, Some("\"v7\"")));
/// let answer = TestRequest::get("/stock").header("if-none-match", "\"v7\"").run::<Stock>();
/// assert_eq!((answer.status(), answer.text().as_str()), (304, ""));
/// let answer = TestRequest::put("/stock").header("if-match", "\"v6\"").json(&13).run::<Stock>();
/// assert_eq!(answer.status(), 412);
/// ```
#[derive(Clone, Debug)]
pub struct Conditions {
    is_read: bool,
    if_match: Option<String>,
    if_none_match: Option<String>,
    if_modified_since: Option<SystemTime>,
    if_unmodified_since: Option<SystemTime>,
}

/// The result of comparing the conditions with the present version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Holds,
    NotModified,
    Failed,
}

impl Conditions {
    /// The reply of a handler that reads: that of `make` with the validators; 304 without a body if the client has this
    /// version already; the error of [`require`](Self::require) if a condition fails. `make` runs only for the first.
    ///
    /// Parts that a 304 must have too, such as `cache-control`, stand around it: `([("cache-control", "…")],
    /// conditions.reply(…))`. A status or [`Created`](crate::Created()) around it leaves a 304 as it is.
    #[track_caller]
    pub fn reply<V: Validators, T: IntoReply>(&self, validators: V, make: impl FnOnce() -> T) -> Unmodified<T> {
        let (head, is_whole) = self.head(validators);
        let body = is_whole.then(make);
        Unmodified { head, body }
    }

    /// [`reply`](Self::reply) with a body that may fail to be made, such as one that an event carries.
    ///
    /// # Errors
    ///
    /// The error of `make`.
    #[track_caller]
    pub fn try_reply<V: Validators, T: IntoReply>(
        &self,
        validators: V,
        make: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<Unmodified<T>, Failure> {
        let (head, is_whole) = self.head(validators);
        let body = is_whole.then(make).transpose()?;
        Ok(Unmodified { head, body })
    }

    /// The head of the reply, and whether a body belongs to it.
    #[track_caller]
    fn head<V: Validators>(&self, validators: V) -> (Result<Reply, Failure>, bool) {
        match self.verdict(&validators) {
            Verdict::Holds => (Ok(validators.add_to(Reply::new(StatusCode::OK))), true),
            Verdict::NotModified => (Ok(validators.add_to(Reply::new(StatusCode::NOT_MODIFIED))), false),
            Verdict::Failed => (Err(failed()), false),
        }
    }

    /// For a handler that writes, before it does.
    ///
    /// # Errors
    ///
    /// 412 if a condition fails.
    pub fn require<V: Validators>(&self, validators: &V) -> Result<(), Failure> {
        match self.verdict(validators) {
            Verdict::Holds => Ok(()),
            _ => Err(failed()),
        }
    }

    /// The order of RFC 9110, section 13.2.2. A condition about a date is ignored beside one about tags, and without a date.
    fn verdict<V: Validators>(&self, validators: &V) -> Verdict {
        let (etag, modified) = (validators.etag(), validators.last_modified().map(whole_seconds));
        if let Some(list) = &self.if_match {
            let is_in = etag.map_or(list.trim() == "*", |etag| etag.is_in(list, true));
            if !is_in {
                return Verdict::Failed;
            }
        } else if let (Some(since), Some(modified)) = (self.if_unmodified_since, modified)
            && modified > since
        {
            return Verdict::Failed;
        }
        if let Some(list) = &self.if_none_match {
            let is_in = etag.map_or(list.trim() == "*", |etag| etag.is_in(list, false));
            return match (is_in, self.is_read) {
                (false, _) => Verdict::Holds,
                (true, true) => Verdict::NotModified,
                (true, false) => Verdict::Failed,
            };
        }
        match (self.if_modified_since, modified) {
            (Some(since), Some(modified)) if self.is_read && modified <= since => Verdict::NotModified,
            _ => Verdict::Holds,
        }
    }
}

fn failed() -> Failure {
    Failure::new(
        412_u16,
        "the present version does not fit the conditions of the request",
    )
}

fn whole_seconds(time: SystemTime) -> SystemTime {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs())
}

impl FromRequest for Conditions {
    fn from_request(request: &Request, _argument: &'static str) -> Result<Self, Failure> {
        let date = |name: &str| httpdate::parse_http_date(request.header(name)?.trim()).ok();
        Ok(Self {
            is_read: matches!(request.method().as_str(), "GET" | "HEAD"),
            if_match: list(request, "if-match"),
            if_none_match: list(request, "if-none-match"),
            if_modified_since: date("if-modified-since"),
            if_unmodified_since: date("if-unmodified-since"),
        })
    }
}

/// The values of a header that may be sent more than once.
fn list(request: &Request, name: &str) -> Option<String> {
    let headers = request.headers().into_iter();
    let values: Vec<_> = headers
        .filter(|(found, _)| found == name)
        .map(|(_, value)| String::from_utf8_lossy(&value).into_owned())
        .collect();
    (!values.is_empty()).then(|| values.join(", "))
}

/// The reply to a conditional request; from [`Conditions::reply`].
#[derive(Clone, Debug)]
pub struct Unmodified<T> {
    /// The error if a condition fails.
    head: Result<Reply, Failure>,
    /// `None` if the reply has no body.
    body: Option<T>,
}

impl<T: IntoReply> IntoReply for Unmodified<T> {
    fn into_reply(self) -> Result<Reply, Failure> {
        let head = self.head?;
        match self.body {
            Some(body) => Ok(body.into_reply()?.headers_of(head)),
            None => Ok(head),
        }
    }
}
