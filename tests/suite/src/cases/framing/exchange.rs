//! One request and its expected reply, for native handlers and for guests.

use std::sync::Mutex;

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::future::join_all;
use pointwork_core::http::{HeaderValue, Response, StatusCode};
use pointwork_core::{Body, Context};

use crate::case::Live;
use crate::client::{Asked, Transcript};
use crate::judge::Docket;

/// The source of a reply's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    None,
    Empty,
    Short,
    Long,
    StreamOfNone,
    StreamOfOne,
    StreamOfMany,
}

/// A long body is this part, doubled so many times.
pub(super) const LONG_PART: &str = "HTTP/1.1 200 OK\r\n\r\n";
pub(super) const LONG_DOUBLED: u32 = 10;

impl Shape {
    pub(super) const ALL: [Self; 7] = [
        Self::None,
        Self::Empty,
        Self::Short,
        Self::Long,
        Self::StreamOfNone,
        Self::StreamOfOne,
        Self::StreamOfMany,
    ];

    pub(super) fn chunks(self) -> Vec<String> {
        match self {
            Self::None | Self::StreamOfNone => Vec::new(),
            Self::Empty => vec![String::new()],
            Self::Short | Self::StreamOfOne => vec!["12345".to_owned()],
            Self::Long => vec![LONG_PART.repeat(1 << LONG_DOUBLED)],
            Self::StreamOfMany => (0..20).map(|nth| format!("{nth}\r\n0\r\n\r\n")).collect(),
        }
    }

    pub(super) fn is_streamed(self) -> bool {
        matches!(self, Self::StreamOfNone | Self::StreamOfOne | Self::StreamOfMany)
    }
}

/// A request as a connection may carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// HTTP/1.1, followed by another request.
    KeepAlive,
    /// HTTP/1.1 with `connection: close`, followed by another request that must get no answer.
    Close,
    /// HTTP/1.0.
    Old,
}

pub(super) const VERSIONS: [Version; 3] = [Version::KeepAlive, Version::Close, Version::Old];

/// Headers that frame a message or belong to its connection, as handlers might set them on a body of five bytes.
pub(super) const CLAIMS: [(&str, &str); 14] = [
    ("content-length", "3"),
    ("content-length", "5"),
    ("content-length", "900"),
    ("content-length", "0"),
    ("content-length", "5, 5"),
    ("transfer-encoding", "chunked"),
    ("transfer-encoding", "gzip, chunked"),
    ("connection", "close"),
    ("connection", "keep-alive, x-hop"),
    ("keep-alive", "timeout=900"),
    ("proxy-connection", "keep-alive"),
    ("te", "trailers"),
    ("trailer", "x-later"),
    ("upgrade", "websocket"),
];

/// One request and its expected reply.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) method: &'static str,
    pub(super) target: String,
    /// The reply that the native handler makes, as the value of `x-reply`.
    pub(super) reply: String,
    pub(super) version: Version,
    pub(super) status: u16,
    pub(super) body: String,
}

impl Exchange {
    pub(super) fn told(&self) -> String {
        let Self {
            method,
            target,
            reply,
            version,
            ..
        } = self;
        format!("{method} {target} {reply} {version:?}")
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let (version, connection) = match self.version {
            Version::KeepAlive => ("1.1", ""),
            Version::Close => ("1.1", "connection: close\r\n"),
            Version::Old => ("1.0", ""),
        };
        format!(
            "{} {} HTTP/{version}\r\nhost: a\r\nx-reply: {}\r\ncontent-length: 0\r\n{connection}\r\n{NEXT}",
            self.method, self.target, self.reply
        )
        .into_bytes()
    }

    fn asked(&self) -> [Asked<'_>; 2] {
        let first = Asked {
            method: self.method,
            old: self.version == Version::Old,
            last: self.version != Version::KeepAlive,
        };
        [first, Asked::with_method("GET").last()]
    }

    /// Whether the reply has no body, because of the method or the status.
    fn is_bare(&self) -> bool {
        self.method == "HEAD" || matches!(self.status, 204 | 205 | 304) || self.opens_a_tunnel()
    }

    fn opens_a_tunnel(&self) -> bool {
        self.method == "CONNECT" && (200..300).contains(&self.status)
    }

    pub(super) fn check(&self, transcript: &Transcript, docket: &Mutex<Docket>) -> Result<()> {
        let replies = {
            let mut docket = docket.lock().map_err(|_| anyhow::anyhow!("the docket is gone"))?;
            docket.enter(transcript, &self.asked(), &self.told())?
        };
        let first = &replies.first().context("there is no reply")?.response;
        ensure!(first.status == self.status, "status {}: {}", first.status, first.text());
        let expected = if self.is_bare() { "" } else { &self.body };
        ensure!(first.text() == expected, "the body is `{}`", first.text());
        if let (false, [length]) = (self.opens_a_tunnel(), first.all("content-length").as_slice()) {
            let known = if self.status == 205 { 0 } else { self.body.len() };
            ensure!(
                *length == known.to_string(),
                "content-length {length}, and the body has {known} bytes"
            );
        }
        for name in ["keep-alive", "proxy-connection", "te", "trailer", "upgrade", "x-hop"] {
            ensure!(
                first.all(name).is_empty(),
                "`{name}` is on the wire: {:?}",
                first.all(name)
            );
        }
        match replies.get(1) {
            Some(next) => ensure!(next.response.text() == "next", "the next reply is {:?}", next.response),
            None if self.version != Version::KeepAlive || self.opens_a_tunnel() => {}
            None if first.header("connection").as_deref() == Some("close") => {}
            None => bail!("the next request was not answered"),
        }
        Ok(())
    }
}

pub(super) const NEXT: &str = "GET /next HTTP/1.1\r\nhost: a\r\nx-reply: next\r\nconnection: close\r\n\r\n";

/// Runs the exchanges, several at a time, and passes every reply to the judge.
pub(super) async fn run(live: &Live, exchanges: Vec<Exchange>) -> Result<()> {
    let docket = Mutex::new(Docket::new());
    let mut complaints = Vec::new();
    // An interpreter makes few instances within the time that a call waits for one.
    let at_once = if crate::languages::is_interpreted() { 8 } else { 64 };
    for some in exchanges.chunks(at_once) {
        let verdicts = some.iter().map(|exchange| async {
            let transcript = live.exchange(&exchange.bytes()).await?;
            exchange.check(&transcript, &docket).with_context(|| exchange.told())
        });
        let refused = join_all(verdicts).await.into_iter().filter_map(Result::err);
        complaints.extend(refused.map(|error| format!("{error:#}")));
    }
    ensure!(
        complaints.is_empty(),
        "{} of {} exchanges\n{}",
        complaints.len(),
        exchanges.len(),
        complaints[..complaints.len().min(20)].join("\n")
    );
    let docket = docket.into_inner().map_err(|_| anyhow::anyhow!("the docket is gone"))?;
    docket.judge().await
}

/// Replies as `x-reply` describes: a status, a shape, and optionally the number of a claim.
pub(super) async fn as_told(ctx: Context) -> Response<Body> {
    let told = ctx
        .headers()
        .get("x-reply")
        .and_then(|told| told.to_str().ok())
        .unwrap_or_default();
    let mut told = told.split(' ');
    let Some(status) = told.next().and_then(|status| status.parse().ok()) else {
        return Response::new(Body::from("next"));
    };
    let shape = told
        .next()
        .and_then(|name| Shape::ALL.into_iter().find(|shape| format!("{shape:?}") == name));
    let shape = shape.unwrap_or(Shape::None);
    let body = if shape.is_streamed() {
        let (mut writer, body) = Body::channel();
        tokio::spawn(async move {
            for chunk in shape.chunks() {
                if writer.write(chunk).await.is_err() {
                    return;
                }
            }
            // The client may be gone.
            let _ = writer.finish().await;
        });
        body
    } else {
        Body::from(shape.chunks().concat())
    };
    let mut reply = Response::new(body);
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    if let Some((name, value)) = told.next().and_then(|nth| CLAIMS.get(nth.parse::<usize>().ok()?)) {
        reply.headers_mut().append(*name, HeaderValue::from_static(value));
        if value.contains("x-hop") {
            reply.headers_mut().append("x-hop", HeaderValue::from_static("1"));
        }
    }
    reply
}
