use http::{HeaderMap, StatusCode};

use super::{IntoReply, Reply};
use crate::failure::Failure;

/// A part of a reply's head, in a tuple before the value that is the body:
///
/// | part | |
/// |---|---|
/// | `HttpStatus`, `u16` | the status, unless the value is a 304 |
/// | `[(name, value); N]`, `Vec<(name, value)>`, [`HeaderMap`] | headers |
/// | `Option<part>` | the part, if there is one |
///
/// Parts are added in the order of the tuple. Implement it for types of your own:
///
/// ```
/// use pointwork_guest::testing::TestRequest;
/// use pointwork_guest::{Reply, ReplyParts};
///
/// struct MaxAge(u32);
///
/// impl ReplyParts for MaxAge {
///     fn add_to(self, reply: Reply) -> Reply {
///         reply.header("cache-control", format!("max-age={}", self.0))
///     }
/// }
///
/// let answer = TestRequest::get("/").run_with(|_| (MaxAge(60), "tea"));
/// assert_eq!(answer.header("cache-control").as_deref(), Some("max-age=60"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no part of a reply's head",
    label = "expected a status, `[(name, value)]` or another type that implements `ReplyParts`"
)]
pub trait ReplyParts {
    /// Adds the part.
    #[track_caller]
    fn add_to(self, reply: Reply) -> Reply;
}

impl ReplyParts for StatusCode {
    fn add_to(self, reply: Reply) -> Reply {
        reply.status_around(self)
    }
}

impl ReplyParts for u16 {
    fn add_to(self, reply: Reply) -> Reply {
        reply.status_around(self)
    }
}

impl<N: Into<String>, V: Into<Vec<u8>>, const COUNT: usize> ReplyParts for [(N, V); COUNT] {
    fn add_to(self, mut reply: Reply) -> Reply {
        // A closure would be the caller of `header`.
        for (name, value) in self {
            reply = reply.header(name, value);
        }
        reply
    }
}

impl<N: Into<String>, V: Into<Vec<u8>>> ReplyParts for Vec<(N, V)> {
    fn add_to(self, mut reply: Reply) -> Reply {
        for (name, value) in self {
            reply = reply.header(name, value);
        }
        reply
    }
}

impl ReplyParts for HeaderMap {
    fn add_to(self, mut reply: Reply) -> Reply {
        for (name, value) in &self {
            reply = reply.header(name.as_str(), value.as_bytes());
        }
        reply
    }
}

impl<P: ReplyParts> ReplyParts for Option<P> {
    fn add_to(self, reply: Reply) -> Reply {
        match self {
            Some(part) => part.add_to(reply),
            None => reply,
        }
    }
}

macro_rules! with_parts {
    ($($part:ident)*) => {
        #[allow(non_snake_case, reason = "a part has the name of its type")]
        impl<$($part: ReplyParts,)* T: IntoReply> IntoReply for ($($part,)* T) {
            fn into_reply(self) -> Result<Reply, Failure> {
                let ($($part,)* value) = self;
                let reply = value.into_reply()?;
                $(let reply = $part.add_to(reply);)*
                Ok(reply)
            }
        }
    };
}

with_parts! { A }
with_parts! { A B }
with_parts! { A B C }
with_parts! { A B C D }
