//! The judge of replies: a strict HTTP client from outside the project.
//!
//! It is the client of Node.js. Its parser, llhttp, is strict by default: it refuses bytes after the end of a reply and
//! after `connection: close`, a body where none is allowed, `content-length` beside `transfer-encoding` or twice,
//! broken chunks, and invalid bytes in a header. The JavaScript guest needs Node.js anyway. Python's h11, the other
//! candidate, accepts several of these, and no crate binds llhttp.
//!
//! The judge reads the bytes that the suite's own reader took for one reply. Both have to agree on its status, headers
//! and body: one of them alone might share a fault with the servers, most of which use the same parser as the suite.

use std::collections::HashMap;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::client::{Asked, Reply, Response, Transcript};

const SCRIPT: &str = include_str!("judge.mjs");

/// Replies that wait for the judge, without duplicates: each method and its bytes once.
#[derive(Debug, Default)]
pub struct Docket {
    replies: HashMap<(String, Vec<u8>), (Response, String)>,
}

#[derive(Serialize)]
struct Question<'a> {
    method: &'a str,
    bytes: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Verdict {
    Whole {
        status: u16,
        headers: Vec<String>,
        body: String,
    },
    Refused {
        error: String,
    },
}

impl Docket {
    /// An empty docket.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the replies of a connection with the suite's own reader, and adds them to the docket. `told` names the
    /// exchange in an error.
    ///
    /// # Errors
    /// If the suite's own reader refuses a reply.
    pub fn enter(&mut self, transcript: &Transcript, asked: &[Asked<'_>], told: &str) -> Result<Vec<Reply>> {
        let replies = transcript.replies(asked).with_context(|| told.to_owned())?;
        for (reply, asked) in replies.iter().zip(asked) {
            // The judge treats a successful reply to CONNECT as a tunnel; any other has the framing of a reply to POST.
            let refused = asked.method == "CONNECT" && !(200..300).contains(&reply.response.status);
            let method = if refused { "POST" } else { asked.method };
            let bytes = transcript.bytes()[reply.span.clone()].to_vec();
            self.replies
                .entry((method.to_owned(), bytes))
                .or_insert_with(|| (reply.response.clone(), told.to_owned()));
        }
        Ok(replies)
    }

    /// The number of different replies.
    pub fn len(&self) -> usize {
        self.replies.len()
    }

    /// Whether there are no replies.
    pub fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    /// Passes every reply to the judge.
    ///
    /// # Errors
    /// The replies that the judge refuses or reads differently; or Node.js is missing.
    pub async fn judge(&self) -> Result<()> {
        let entries: Vec<_> = self.replies.iter().collect();
        let questions = entries
            .iter()
            .map(|((method, bytes), _)| (method.as_str(), bytes.as_slice()));
        let verdicts = ask(questions).await?;
        let mut complaints: Vec<_> = entries
            .iter()
            .zip(verdicts)
            .filter_map(|(((_, bytes), (ours, told)), verdict)| {
                let complaint = verdict.against(ours)?;
                Some(format!("{told}: {complaint}: `{}`", bytes.escape_ascii()))
            })
            .collect();
        complaints.sort();
        if complaints.is_empty() {
            return Ok(());
        }
        bail!("{} replies\n{}", complaints.len(), complaints.join("\n"))
    }
}

impl Verdict {
    /// The differences between the judge's reading of a reply and the suite's own.
    fn against(self, ours: &Response) -> Option<String> {
        match self {
            Self::Refused { error } => Some(error),
            Self::Whole { status, headers, body } => {
                let same_headers = headers.len() == 2 * ours.headers.len()
                    && headers
                        .chunks_exact(2)
                        .zip(&ours.headers)
                        .all(|(theirs, (name, value))| theirs[0] == *name && latin1(value) == theirs[1]);
                let same = status == ours.status && same_headers && STANDARD.encode(&ours.body) == body;
                (!same).then(|| format!("the judge reads {status}, {headers:?}, `{body}` in base64"))
            }
        }
    }
}

/// Node.js decodes the bytes of a header as Latin-1.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The judge's reason to refuse each of these replies, by the method that it answers; `None` for an accepted one.
///
/// # Errors
/// If Node.js is missing.
pub async fn refusals(replies: &[(&str, &[u8])]) -> Result<Vec<Option<String>>> {
    let verdicts = ask(replies.iter().copied()).await?.into_iter();
    let refusals = verdicts.map(|verdict| match verdict {
        Verdict::Refused { error } => Some(error),
        Verdict::Whole { .. } => None,
    });
    Ok(refusals.collect())
}

async fn ask<'a>(replies: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Vec<Verdict>> {
    let mut questions = Vec::new();
    let mut asked = 0;
    for (method, bytes) in replies {
        let bytes = STANDARD.encode(bytes);
        serde_json::to_writer(&mut questions, &Question { method, bytes })?;
        questions.push(b'\n');
        asked += 1;
    }
    let mut node = Command::new("node")
        .args(["--input-type=module", "--eval", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("`node` does not start; the judge of replies needs Node.js 20 or newer")?;
    let mut input = node.stdin.take().context("the judge has no standard input")?;
    let send = tokio::spawn(async move { input.write_all(&questions).await });
    let output = node.wait_with_output().await?;
    ensure!(
        output.status.success(),
        "the judge failed; it needs Node.js 20 or newer\n{}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    send.await??;
    let answers = String::from_utf8(output.stdout)?;
    let verdicts: Vec<_> = answers.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(
        verdicts.len() == asked,
        "the judge gave {} verdicts on {asked} replies",
        verdicts.len()
    );
    Ok(verdicts)
}
