//! In what an adapter may differ from the others.

/// In what an adapter differs, as its docs say or its framework has it. A case asserts what is declared here, either way.
pub struct Differences {
    /// How it has HTTP/2.
    pub http2: Http2,
    /// What the preface of HTTP/2 gets where it is not spoken, before the connection closes.
    pub answer_to_the_preface: &'static str,
    /// Whether it takes every method. One outside its list gets an empty 501, and the connection closes.
    pub every_method: bool,
    /// Whether a connection serves another request after a CONNECT that was refused. The refusal says
    /// `Connection: close` if not.
    pub stays_after_a_refused_connect: bool,
    /// The words after a status 299.
    pub words_of_299: &'static str,
    /// Whether a reply says so if the connection closes after it because the request's body did not come. It closes
    /// either way.
    pub announces_the_end_after_an_unread_body: bool,
    /// Whether a connection serves another request after a reply that began before the request's body had ended. The
    /// reply says `Connection: close` if not.
    pub stays_after_an_early_reply: bool,
    /// Whether a refusal in HTTP/1.0 says `Connection: close`. The connection closes either way.
    pub says_close_in_http_1_0: bool,
    /// Whether a lone line feed after the last chunk counts as the begin of a trailer, for whose end the server waits. It
    /// is an error if not.
    pub line_feed_begins_a_trailer: bool,
}

impl Differences {
    /// The ways of hyper, and so of all that stand on the shared server.
    pub const NONE: Self = Self {
        http2: Http2::Beside,
        answer_to_the_preface: "",
        every_method: true,
        stays_after_a_refused_connect: true,
        words_of_299: "<none>",
        announces_the_end_after_an_unread_body: false,
        stays_after_an_early_reply: true,
        says_close_in_http_1_0: true,
        line_feed_begins_a_trailer: true,
    };
}

/// How an adapter has HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http2 {
    /// On the same port as HTTP/1, unless the options ask for one of them.
    Beside,
    /// Only where the options ask for nothing else.
    Alone,
    /// Never, whatever the options ask for.
    Never,
}
