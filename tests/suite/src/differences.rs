//! Probes of the declarations in `tests/differences.toml` that are not failing cases: closed lists of methods, and
//! servers with their own request parser. A declared difference that is not there fails the test, as an undeclared one
//! does.

use anyhow::{Context as _, Result, bail, ensure};
use pointwork_wire_tests::differences::{Answer, ClosedList, Differences, OwnParser};

use crate::client::{Asked, Client, End, Response, Transcript};
use crate::fuzz::{Field, Line};
use crate::subject::Subject;

/// One declared difference of one adapter.
#[derive(Clone, Copy, Debug)]
pub enum Probe {
    /// A framework's closed list of methods.
    Methods(&'static ClosedList),
    /// A server with its own request parser.
    OwnParser(&'static OwnParser),
}

/// A request that follows another on its connection, to show whether that stayed open.
const NEXT: &[u8] = b"GET /next HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

impl Probe {
    /// The probes of one adapter.
    pub fn all(adapter: &str) -> Vec<Self> {
        let declared = Differences::declared();
        let lists = declared.methods.iter().filter(|list| list.adapter == adapter);
        let parsers = declared.own_parsers.iter().filter(|parser| parser.adapter == adapter);
        lists.map(Self::Methods).chain(parsers.map(Self::OwnParser)).collect()
    }

    /// The name of the test.
    pub fn name(&self) -> String {
        match self {
            Self::Methods(_) => "closed_list_of_methods".to_owned(),
            Self::OwnParser(_) => "own_parser".to_owned(),
        }
    }

    /// Checks that the difference is there.
    ///
    /// # Errors
    /// If the adapter does not differ, or differs in another way than declared.
    pub async fn run(self, subject: &dyn Subject) -> Result<()> {
        let field = Field::open(&[subject], &[Line::all("/"), Line::all("/*rest")]).await?;
        let client = field.client(subject.name()).context("the subject does not run")?;
        let (verdict, why) = match self {
            Self::Methods(list) => (methods(list, client).await, &list.why),
            Self::OwnParser(parser) => (refuses(parser, &field, client).await, &parser.why),
        };
        field.close().await;
        verdict.with_context(|| format!("declared because {why}"))
    }
}

async fn methods(list: &ClosedList, client: Client) -> Result<()> {
    for method in list.serves.iter().filter(|method| *method != "CONNECT") {
        let response = client.call(method, "/probe").await?;
        ensure!(
            response.status == 200,
            "{} answers {method} with {}, though it is in its list",
            list.adapter,
            response.status
        );
    }
    for method in ["PURGE", "NOTIFY", "BREW", "x-own", "get"] {
        ensure!(
            !list.serves.contains(method),
            "`{method}` stands in the list of methods"
        );
        let mut request = format!("{method} /probe HTTP/1.1\r\nhost: a\r\n\r\n").into_bytes();
        request.extend_from_slice(NEXT);
        let transcript = client.exchange(&request).await?;
        let asked = [Asked::with_method(method), Asked::with_method("GET").last()];
        check(&list.others, &transcript, &asked).with_context(|| method.to_owned())?;
    }
    Ok(())
}

async fn refuses(parser: &OwnParser, field: &Field, client: Client) -> Result<()> {
    let transcript = client.exchange(&[parser.probe.as_bytes(), NEXT].concat()).await?;
    let request = crate::fuzz::Request::parse(parser.probe.as_bytes())?;
    if field.agrees(&request, &transcript) {
        bail!("{} answers the probe as the core says", parser.adapter);
    }
    field.check_refusal(&request, &transcript)
}

/// Whether a connection returned exactly this answer to the first request, and the declared behaviour to the next.
///
/// # Errors
/// The actual replies.
pub(crate) fn check(answer: &Answer, transcript: &Transcript, asked: &[Asked<'_>]) -> Result<()> {
    let replies = transcript.replies(asked)?;
    let first = replies.first().context("there is no reply")?;
    let seen = Answer {
        status: first.response.status,
        body: first.response.text(),
        closes: replies.len() == 1 && transcript.end() == End::Closed,
    };
    ensure!(seen == *answer, "expected {answer}, as declared, got {seen}");
    Ok(())
}

/// Whether a reply equals the declared answer; its connection is its own.
pub(crate) fn check_reply(answer: &Answer, method: &str, reply: &Response) -> Result<()> {
    ensure!(
        (reply.status, reply.text()) == (answer.status, answer.body.clone()),
        "{method}: expected {answer}, as declared, got {} {:?}",
        reply.status,
        reply.text()
    );
    Ok(())
}
