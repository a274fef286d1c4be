use std::rc::Rc;
use std::time::SystemTime;

use pointwork_events::json::JSON;
use pointwork_patterns::Pattern;
use serde::Serialize;

use super::answer::Answer;
use super::block_on;
use super::events::listeners;
use super::routing::{find, params};
use crate::backend::native::environment::with_variables;
use crate::backend::native::{Exchange, NativeContext, instant};
use crate::bindings::types::Header;
use crate::context::{AsyncContext, Context};
use crate::controller::Controller;
use crate::json::FORM;
use crate::reply::IntoOutcome;

/// A request for one controller, with closures as listeners of the events that it calls; see the [module docs](super).
#[derive(Debug)]
#[must_use = "a request does nothing until `run`"]
pub struct TestRequest(Exchange);

/// Declares the constructor of a request with each method.
macro_rules! methods {
    ($($name:ident $method:literal),*) => {$(
        #[doc = concat!("`", $method, "`.")]
        pub fn $name(target: &str) -> Self {
            Self::new($method, target)
        }
    )*};
}

impl TestRequest {
    /// A request with any method. `target` is a path, percent-encoded as in a request line, with or without a query.
    pub fn new(method: &str, target: &str) -> Self {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        Self(Exchange::new(method, path, query))
    }

    methods! { get "GET", post "POST", put "PUT", patch "PATCH", delete "DELETE" }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.0.headers.push(Header {
            name: name.to_ascii_lowercase(),
            value: value.into(),
        });
        self
    }

    /// Sets the body.
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        self.0.body.replace(Some(body.into()));
        self
    }

    /// Sets the body to the value as JSON, and the `content-type`. Panics if the value cannot be written as JSON.
    pub fn json<T: Serialize + ?Sized>(self, value: &T) -> Self {
        let body = serde_json::to_vec(value).expect("the body can be written as JSON");
        self.header("content-type", JSON).body(body)
    }

    /// Sets the body to the value as an HTML form, and the `content-type`: a struct, or pairs of names and values. Panics if
    /// the value cannot be written as a form.
    pub fn form<T: Serialize + ?Sized>(self, value: &T) -> Self {
        let body = serde_html_form::to_string(value).expect("the body can be written as a form");
        self.header("content-type", FORM).body(body)
    }

    /// Adds a field to a body of the type `multipart/form-data`.
    pub fn part(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.multipart(
            &format!("content-disposition: form-data; name=\"{name}\""),
            content.as_ref(),
        )
    }

    /// Adds a file to a body of the type `multipart/form-data`.
    pub fn file(self, name: &str, file_name: &str, content_type: &str, content: impl AsRef<[u8]>) -> Self {
        let head = format!(
            "content-disposition: form-data; name=\"{name}\"; filename=\"{file_name}\"\r\ncontent-type: {content_type}"
        );
        self.multipart(&head, content.as_ref())
    }

    fn multipart(self, head: &str, content: &[u8]) -> Self {
        const END: &[u8] = b"--test-boundary--\r\n";
        let mut body = self.0.body.take().unwrap_or_default();
        let is_first = !body.ends_with(END);
        body.truncate(body.len() - if is_first { 0 } else { END.len() });
        body.extend(format!("--test-boundary\r\n{head}\r\n\r\n").into_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
        body.extend_from_slice(END);
        let request = self.body(body);
        if is_first {
            return request.header("content-type", "multipart/form-data; boundary=test-boundary");
        }
        request
    }

    /// Adds a cookie, as it is, to the header `cookie`.
    pub fn cookie(mut self, name: &str, value: &str) -> Self {
        let mut headers = self.0.headers.iter_mut();
        match headers.find(|header| header.name == "cookie") {
            Some(header) => header.value.extend(format!("; {name}={value}").into_bytes()),
            None => return self.header("cookie", format!("{name}={value}")),
        }
        self
    }

    /// Sets the scheme, `http` without it.
    pub fn scheme(mut self, scheme: &str) -> Self {
        self.0.scheme = scheme.into();
        self
    }

    /// Sets the authority, `localhost` without it.
    pub fn authority(mut self, authority: &str) -> Self {
        self.0.authority = Some(authority.into());
        self
    }

    /// Sets the HTTP version, `1.1` without it.
    pub fn http_version(mut self, version: &str) -> Self {
        self.0.http_version = version.into();
        self
    }

    /// Sets the address of the client, as in [`Request::remote_address`](crate::Request::remote_address).
    pub fn remote_address(mut self, address: &str) -> Self {
        self.0.remote_address = Some(address.into());
        self
    }

    /// Sets the time at which the request was received, the present without it.
    pub fn received_at(mut self, time: SystemTime) -> Self {
        self.0.received_at = instant(time);
        self
    }

    /// Sets the deadline of the request.
    pub fn deadline(mut self, time: SystemTime) -> Self {
        self.0.deadline = Some(instant(time));
        self
    }

    /// Makes a request whose client has disconnected. A reply that is written in chunks fails with `gone`.
    pub fn cancelled(mut self) -> Self {
        self.0.cancelled = true;
        self
    }

    /// Sets a request extension, as the middleware of a host application does.
    pub fn extension(self, key: &str, value: &str) -> Self {
        self.0.extensions.borrow_mut().push((key.into(), value.into()));
        self
    }

    listeners! { 0 bus }

    /// Sets the route of a request whose context goes to a channel; see
    /// [`TestEvent::with_context`](super::TestEvent::with_context). `pattern` is the full pattern, `/products/:id`.
    /// Panics if it is not a valid pattern, or the request's path does not match it. [`run`](Self::run) sets the route itself.
    pub fn route(mut self, pattern: &str) -> Self {
        let pattern = Pattern::parse(pattern).unwrap_or_else(|error| panic!("{error}"));
        match params(&pattern, &self.0.path) {
            Some(params) => self.0.params = params,
            None => panic!("the path `{}` does not match the pattern `{pattern}`", self.0.path),
        }
        self.0.route = pattern.to_string();
        self
    }

    /// The request for the stand-in of the host.
    pub(super) fn into_exchange(mut self) -> Rc<Exchange> {
        // A request without a body has an empty one, which can be taken once.
        self.0.body.get_mut().get_or_insert_default();
        Rc::new(self.0)
    }

    /// Runs the handler of `C` for the request.
    ///
    /// # Panics
    ///
    /// No route of the controller matches; the message lists its routes. An `async` handler awaits a future that is not
    /// of this crate, which nothing would wake.
    #[track_caller]
    pub fn run<C: Controller>(self) -> Answer {
        match self.try_run::<C>() {
            Ok(answer) => answer,
            Err((request, routes)) => panic!(
                "no route of `{}` matches `{} {}`, expected one of:\n{routes}",
                C::NAME,
                request.0.method,
                request.0.path
            ),
        }
    }

    /// Runs the handler, or gives the request back with the list of all routes.
    pub(super) fn try_run<C: Controller>(mut self) -> Result<Answer, (Box<Self>, String)> {
        let found = match find::<C>(&self.0.method, &self.0.path) {
            Ok(found) => found,
            Err(routes) => return Err((Box::new(self), routes)),
        };
        self.0.params = found.params;
        self.0.route = found.pattern.to_string();
        let exchange = self.into_exchange();
        if found.route.body == "none" {
            exchange.body.take();
        }
        let context = AsyncContext::new(NativeContext(Rc::clone(&exchange)));
        let handling = C::handle_async(found.route.handler, context);
        let (outcome, _context) = with_variables(&exchange.variables, || block_on(handling));
        Ok(Answer::new(exchange, outcome))
    }

    /// Runs a function with the context of the request, without a controller: for code that handlers share. Set the path
    /// parameters with [`route`](Self::route). The function may return a reply.
    ///
    /// ```
    /// use pointwork_guest::testing::TestRequest;
    /// use pointwork_guest::{Context, Failure, HttpStatus};
    ///
    /// fn user(ctx: &Context) -> Result<String, Failure> {
    ///     let user = ctx.extension("user");
    ///     user.ok_or_else(|| ctx.throw(HttpStatus::UNAUTHORIZED, "sign in first").header("www-authenticate", "Bearer"))
    /// }
    ///
    /// let answer = TestRequest::get("/").extension("user", "ada").run_with(|ctx| user(&ctx));
    /// assert_eq!(answer.text(), "ada");
    /// let answer = TestRequest::get("/").run_with(|ctx| user(&ctx));
    /// assert_eq!((answer.status(), answer.header("www-authenticate")), (401, Some("Bearer".into())));
    /// ```
    pub fn run_with<R: IntoOutcome>(self, code: impl FnOnce(Context) -> R) -> Answer {
        let exchange = self.into_exchange();
        let context = Context::new(NativeContext(Rc::clone(&exchange)));
        let outcome = with_variables(&exchange.variables, || code(context)).into_outcome();
        Answer::new(exchange, outcome)
    }

    /// The same for the asynchronous form. Panics if the function awaits a future that is not of this crate, which nothing
    /// would wake.
    pub fn run_with_async<R: IntoOutcome>(self, code: impl AsyncFnOnce(AsyncContext) -> R) -> Answer {
        let exchange = self.into_exchange();
        let context = AsyncContext::new(NativeContext(Rc::clone(&exchange)));
        let outcome = with_variables(&exchange.variables, || block_on(code(context))).into_outcome();
        Answer::new(exchange, outcome)
    }
}
