//! The differences between adapters that are allowed: those of `differences.toml`, and no other.
//!
//! The file is executed. Each entry has a [`Probe`] that has to see it on the adapter; a difference that is gone fails as
//! one that is new does.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use crate::client::{Asked, Client, End, Response, Transcript};
use crate::fuzz::{Field, Line};
use crate::subject::Subject;

/// The adapters that there are to be; an entry may be ahead of its adapter.
const NAMES: [&str; 5] = ["axum", "trillium", "actix", "salvo", "hyper"];

/// Something that a case needs and an adapter may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// HTTP/2 without TLS, on the same port.
    Http2,
}

/// All of `differences.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Differences {
    #[serde(default)]
    lacks: Vec<Lack>,
    #[serde(default)]
    methods: Vec<ClosedList>,
    #[serde(default)]
    reads: Vec<Reading>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lack {
    adapter: String,
    need: Need,
    why: String,
}

/// A framework's closed list of methods.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClosedList {
    adapter: String,
    why: String,
    serves: BTreeSet<String>,
    others: Answer,
}

/// What is answered instead of the common answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The whole body.
    pub body: String,
    /// Whether the connection closes behind it.
    pub closes: bool,
}

/// A method of which one adapter reads requests in its own way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reading {
    adapter: String,
    method: String,
    open: Vec<Aspect>,
    why: String,
    probe: ReadingProbe,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadingProbe {
    request: String,
    status: u16,
    body: String,
    closes: bool,
}

/// Something about an answer that may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aspect {
    /// The request's body as the handler sees it, and with it the reply's.
    Body,
    /// Whether the connection closes, and with it what becomes of the next request on it.
    Connection,
}

/// One declared difference of one adapter, to be looked for.
#[derive(Clone, Copy)]
pub struct Probe {
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Lack(&'static Lack),
    Methods(&'static ClosedList),
    Reading(&'static Reading),
}

impl Differences {
    /// Those of the file.
    ///
    /// # Panics
    /// If the file is not as it should be: no test means anything then.
    pub fn declared() -> &'static Self {
        static DECLARED: OnceLock<Differences> = OnceLock::new();
        DECLARED.get_or_init(|| Self::load().unwrap_or_else(|error| panic!("{error:#}")))
    }

    fn load() -> Result<Self> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("differences.toml");
        let text = std::fs::read_to_string(&file).context("differences.toml")?;
        let read: Self = toml::from_str(&text).context("differences.toml")?;
        let adapters = read.lacks.iter().map(|lack| &lack.adapter);
        let adapters = adapters.chain(read.methods.iter().map(|list| &list.adapter));
        for adapter in adapters.chain(read.reads.iter().map(|reading| &reading.adapter)) {
            ensure!(
                NAMES.contains(&adapter.as_str()),
                "differences.toml names the adapter `{adapter}`, expected one of {}",
                NAMES.join(", ")
            );
        }
        Ok(read)
    }

    /// Why an adapter lacks one of these; `None` if it has them all.
    pub fn lacks(&self, adapter: &str, needs: &[Need]) -> Option<&str> {
        let found = self
            .lacks
            .iter()
            .find(|lack| lack.adapter == adapter && needs.contains(&lack.need));
        found.map(|lack| lack.why.as_str())
    }

    /// What an adapter's server answers by itself to a method that its framework does not know; `None` if it serves it.
    pub fn instead(&self, adapter: &str, method: &str) -> Option<&Answer> {
        let list = self.methods.iter().find(|list| list.adapter == adapter)?;
        (!list.serves.contains(method)).then_some(&list.others)
    }

    /// What is not compared of an adapter's answers to a method.
    pub fn open(&self, adapter: &str, method: &str) -> &[Aspect] {
        let reading = self
            .reads
            .iter()
            .find(|reading| reading.adapter == adapter && reading.method == method);
        reading.map_or(&[], |reading| &reading.open)
    }

    /// The probes of one adapter.
    pub fn probes(&'static self, adapter: &str) -> Vec<Probe> {
        let lacks = self.lacks.iter().filter(|lack| lack.adapter == adapter).map(What::Lack);
        let lists = self.methods.iter().filter(|list| list.adapter == adapter);
        let readings = self.reads.iter().filter(|reading| reading.adapter == adapter);
        lacks
            .chain(lists.map(What::Methods))
            .chain(readings.map(What::Reading))
            .map(|what| Probe { what })
            .collect()
    }
}

impl Answer {
    /// Whether a connection brought just this answer to the first of these requests, and as declared one to the next.
    ///
    /// # Errors
    /// What came instead.
    pub fn check(&self, transcript: &Transcript, asked: &[Asked<'_>]) -> Result<()> {
        let replies = transcript.replies(asked)?;
        let first = replies.first().context("there is no reply")?;
        let seen = Self {
            status: first.response.status,
            body: first.response.text(),
            closes: replies.len() == 1 && transcript.end() == End::Closed,
        };
        ensure!(seen == *self, "expected {self}, as declared, got {seen}");
        Ok(())
    }

    /// Whether a reply on a connection of its own is this answer.
    pub(crate) fn check_reply(&self, method: &str, reply: &Response) -> Result<()> {
        ensure!(
            (reply.status, reply.text()) == (self.status, self.body.clone()),
            "{method}: expected {self}, as declared, got {} {:?}",
            reply.status,
            reply.text()
        );
        Ok(())
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connection = if self.closes { "closes" } else { "stays" };
        write!(f, "{} {:?}, and the connection {connection}", self.status, self.body)
    }
}

impl Probe {
    /// A name for the test.
    pub fn name(&self) -> String {
        match self.what {
            What::Lack(lack) => format!("lacks_{:?}", lack.need).to_lowercase(),
            What::Methods(_) => "closed_list_of_methods".to_owned(),
            What::Reading(reading) => format!("reads_{}_differently", reading.method.to_lowercase()),
        }
    }

    /// Looks for the difference.
    ///
    /// # Errors
    /// If the adapter does not differ, or in another way than declared.
    pub async fn run(self, subject: &dyn Subject) -> Result<()> {
        let field = Field::open(&[subject], &[Line::all("/"), Line::all("/*rest")]).await?;
        let client = field.client(subject.name()).context("the subject does not run")?;
        let (verdict, why) = match self.what {
            What::Lack(lack) => (lack.probe(client).await, &lack.why),
            What::Methods(list) => (list.probe(client).await, &list.why),
            What::Reading(reading) => (reading.probe(&field, client).await, &reading.why),
        };
        field.close().await;
        verdict.with_context(|| format!("declared because {why}"))
    }
}

/// Follows a request on its connection, so that it shows whether that stayed open.
const NEXT: &[u8] = b"GET /next HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

impl Lack {
    async fn probe(&self, client: Client) -> Result<()> {
        let found = match self.need {
            Need::Http2 => match client.connect_http2().await {
                Ok(http2) => http2.send(crate::client::Request::new("GET", "/")).await.is_ok(),
                Err(_) => false,
            },
        };
        ensure!(
            !found,
            "{} has {:?}, though differences.toml says that it lacks it",
            self.adapter,
            self.need
        );
        Ok(())
    }
}

impl ClosedList {
    async fn probe(&self, client: Client) -> Result<()> {
        for method in self.serves.iter().filter(|method| *method != "CONNECT") {
            let response = client.call(method, "/probe").await?;
            ensure!(
                response.status == 200,
                "{} answers {method} with {}, though it is in its list",
                self.adapter,
                response.status
            );
        }
        for method in ["PURGE", "NOTIFY", "BREW", "x-own", "get"] {
            ensure!(
                !self.serves.contains(method),
                "`{method}` stands in the list of methods"
            );
            let mut request = format!("{method} /probe HTTP/1.1\r\nhost: a\r\n\r\n").into_bytes();
            request.extend_from_slice(NEXT);
            let transcript = client.exchange(&request).await?;
            let asked = [Asked::of(method), Asked::of("GET").last()];
            self.others
                .check(&transcript, &asked)
                .with_context(|| method.to_owned())?;
        }
        Ok(())
    }
}

impl Reading {
    async fn probe(&self, field: &Field, client: Client) -> Result<()> {
        let declared = Answer {
            status: self.probe.status,
            body: self.probe.body.clone(),
            closes: self.probe.closes,
        };
        let request = [self.probe.request.as_bytes(), NEXT].concat();
        let transcript = client.exchange(&request).await?;
        let asked = [Asked::of(&self.method), Asked::of("GET").last()];
        declared.check(&transcript, &asked)?;
        let request = crate::fuzz::Request::parse(self.probe.request.as_bytes())?;
        if field.agrees(&request, &transcript) {
            bail!("{} reads {} as the others do", self.adapter, self.method);
        }
        Ok(())
    }
}
