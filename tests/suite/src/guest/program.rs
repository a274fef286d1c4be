//! The programs of the handlers and listeners of a synthetic guest.

/// The steps of one handler or listener, and its end.
///
/// A program has one text: empty at first in a handler, the payload's data in a listener. Reading steps append to it;
/// [`call`](Self::call) sends it and replaces it by the result; the end makes it the reply, or the listener's result. A
/// listener calls and emits through its delivery. It has no context until [`Step::TakeContext`]; a step that needs one
/// before that traps.
///
/// ```
/// use pointwork_suite::guest::{Program, Step};
///
/// let greets = Program::new().say("hello ").param("name");
/// let creates = Program::text("created").status(201).header("location", "/things/7");
/// let replies = Program::new().take_context().step(Step::Send(200));
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) steps: Vec<Step>,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) details: Option<String>,
    pub(crate) end: End,
    pub(crate) is_unchecked: bool,
}

/// One step of a [`Program`].
#[derive(Clone, Debug)]
pub enum Step {
    /// Appends a text.
    Say(String),
    /// Appends the text to itself that many times, so that it doubles each time.
    Double(u32),
    /// Runs each of these steps with the text as it is now.
    Each(Vec<Step>),
    /// Appends the method.
    Method,
    /// Appends the path as the client sent it.
    Path,
    /// Appends the query, or `(none)`.
    Query,
    /// Appends the scheme.
    Scheme,
    /// Appends the authority, or `(none)`.
    Authority,
    /// Appends the version of HTTP.
    HttpVersion,
    /// Appends the address of the client, or `(none)`.
    RemoteAddress,
    /// Appends the time of the request's arrival, in seconds since 1970.
    ReceivedAt,
    /// Appends the deadline of the request, in a listener of the event, in seconds since 1970, or `(none)`.
    Deadline,
    /// Appends `cancelled` if nobody waits for the reply, in a listener for the value.
    Cancelled,
    /// Appends a path parameter, or `(none)`.
    Param(String),
    /// Appends `name=value` and a line end for each path parameter.
    Params,
    /// Appends the first header of that name, or `(none)`.
    Header(String),
    /// Appends `name=value` and a line end for each header.
    Headers,
    /// Appends the request's id; in a listener, the id of the request that began the chain, or `(none)`.
    RequestId,
    /// Appends the pattern of the route.
    Route,
    /// Appends an extension of the request, or `(none)`.
    Extension(String),
    /// Makes the text an extension of the request, and empties it.
    SetExtension(String),
    /// Appends the whole request body, or `failed <code>`.
    Body,
    /// Appends the whole request body as text, or `failed <code>`.
    BodyText,
    /// Appends the number of runs of handlers and listeners in this instance.
    Count,
    /// Calls an event with the text as payload; the text becomes the result, or `failed <code>: <message>`.
    Call(String),
    /// The same with these bytes as the event's name, which need not be UTF-8.
    CallBytes(Vec<u8>),
    /// The same with a payload of that content type.
    CallAs(String, &'static str),
    /// Emits an event with the text as payload, and empties the text.
    Emit(String),
    /// Hands the context over with the text as payload, and empties the text; `failed <code>` if it is refused.
    HandOver(String),
    /// Sends the text as the reply; the text becomes `sent`, or `failed <code>`.
    Send(u16),
    /// The same with headers.
    SendWith(u16, Vec<(String, Vec<u8>)>),
    /// Sends an error with the text as its message; the text becomes `sent`, or `failed <code>`.
    ThrowNow(u16),
    /// Opens a reply of that status and writes each chunk.
    Stream(u16, Vec<String>),
    /// Opens a reply of that status and writes the text as one chunk, and empties the text.
    StreamText(u16),
    /// Puts the first delivery of the instance in the place of a listener's own, which must not let go of it.
    UseFirstDelivery,
    /// Ends the reply that [`Stream`](Self::Stream) opened. Without it the reply breaks off.
    Finish,
    /// Opens the request body and a reply of 200, writes each chunk as it was read, and finishes the reply. The text
    /// becomes empty, or `failed <code>`.
    Echo,
    /// Takes the context that was handed over with the event; the text becomes `(none)` if there was none. Listeners
    /// only.
    TakeContext,
    /// Appends the event's name within its channel. Listeners only.
    EventName,
    /// Appends the content type of the payload. Listeners only.
    PayloadType,
    /// Appends the id of the event. Listeners only.
    EventId,
    /// Appends the number of the attempt to deliver the event. Listeners only.
    Attempt,
    /// Appends the time of the environment: seconds, a space, nanoseconds.
    Now,
    /// The same by the monotonic clock.
    Monotonic,
    /// Appends a random number of the environment.
    Random,
    /// Appends `name=value` and a line end for each variable of the environment.
    Variables,
    /// Writes the text to the standard output, and empties it.
    Print,
    /// Writes the text to the standard error, and empties it.
    PrintError,
    /// Writes the text to the log at level info, and empties it.
    Log,
    /// The same with another target.
    LogFrom(String),
    /// The same with fields.
    LogWith(Vec<(String, String)>),
    /// The same with one field so many times. The guest has the field in its memory once.
    LogRepeated((String, String), u32),
    /// Reports the text to the host as the message of a panic, and empties the text.
    Panicked,
    /// The same with the type of the exception, and with frames: function, file and line of each.
    PanickedAt(&'static str, Vec<(&'static str, &'static str, u32)>),
}

/// The kind of reply that the text becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyBody {
    /// No body.
    Empty,
    /// Text.
    Text,
    /// JSON; the program has to make the text valid JSON.
    Json,
    /// Bytes.
    Bytes,
}

/// How a handler or a listener ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The text is the reply. In a listener it is the result, as `application/json`; an empty text becomes the JSON
    /// text `null`.
    Reply(ReplyBody),
    /// The request ends with an error; the text is its message. Handlers only.
    Throw(u16),
    /// The text is the result, of that content type, as bytes. Listeners only.
    Result(&'static str),
    /// The listener fails with that code and status; the text is the message. Listeners only.
    Fail(&'static str, u16),
    /// The context is dropped; the request has no reply unless a step sent one. A listener's result is `null`.
    Deferred,
    /// The context is kept for ever, and so is a listener's delivery. The result is `null`.
    Keep,
    /// An exception that nothing catches; the text is its message.
    Raise,
    /// Trap.
    Trap,
    /// An endless loop.
    Loop,
    /// Unbounded growth of memory.
    Hog,
    /// Unbounded recursion.
    Overflow,
}

impl Default for Program {
    fn default() -> Self {
        Self {
            steps: Vec::new(),
            status: 200,
            headers: Vec::new(),
            details: None,
            end: End::Reply(ReplyBody::Text),
            is_unchecked: false,
        }
    }
}

impl Program {
    /// A program without steps, which replies with an empty text.
    pub fn new() -> Self {
        Self::default()
    }

    /// A program that replies with a fixed text.
    pub fn text(text: &str) -> Self {
        Self::new().say(text)
    }

    /// Appends a step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// See [`Step::Say`].
    #[must_use]
    pub fn say(self, text: &str) -> Self {
        self.step(Step::Say(text.to_owned()))
    }

    /// See [`Step::Param`].
    #[must_use]
    pub fn param(self, name: &str) -> Self {
        self.step(Step::Param(name.to_owned()))
    }

    /// See [`Step::Header`].
    #[must_use]
    pub fn header_of_request(self, name: &str) -> Self {
        self.step(Step::Header(name.to_owned()))
    }

    /// See [`Step::Call`].
    #[must_use]
    pub fn call(self, event: &str) -> Self {
        self.step(Step::Call(event.to_owned()))
    }

    /// See [`Step::Emit`].
    #[must_use]
    pub fn emit(self, event: &str) -> Self {
        self.step(Step::Emit(event.to_owned()))
    }

    /// See [`Step::TakeContext`].
    #[must_use]
    pub fn take_context(self) -> Self {
        self.step(Step::TakeContext)
    }

    /// See [`Step::HandOver`]; the handler leaves the reply to the listener.
    #[must_use]
    pub fn hands_over(self, event: &str) -> Self {
        self.step(Step::HandOver(event.to_owned())).ends(End::Deferred)
    }

    /// See [`End::Fail`].
    #[must_use]
    pub fn fails(self, code: &'static str, status: u16) -> Self {
        self.ends(End::Fail(code, status))
    }

    /// Sets the status of the reply; the default is 200.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header to the reply, or to the error that ends the program.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Sets the details of the error that ends the program.
    #[must_use]
    pub fn details(mut self, details: &str) -> Self {
        self.details = Some(details.to_owned());
        self
    }

    /// Gives the headers and details of the end to the host byte by byte, without the checks of the SDK. The case tests the checks of
    /// the host.
    #[must_use]
    pub fn bytes(mut self) -> Self {
        self.is_unchecked = true;
        self
    }

    /// Sets the kind of the reply.
    #[must_use]
    pub fn replies(self, body: ReplyBody) -> Self {
        self.ends(End::Reply(body))
    }

    /// Sets the end.
    #[must_use]
    pub fn ends(mut self, end: End) -> Self {
        self.end = end;
        self
    }
}
