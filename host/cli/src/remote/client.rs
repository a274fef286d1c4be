//! A request to the admin endpoint.

use std::error::Error as StdError;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use pointwork_admin::ProblemReport;
use pointwork_config::AdminAddress;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::net::TcpStream;

use crate::error::{Error, OrFailed, Result};
use crate::exit::Exit;

type BoxError = Box<dyn StdError + Send + Sync>;

/// The reply to a request that succeeded.
pub(super) struct Reply(serde_json::Value);

impl Reply {
    /// The reply as JSON over several lines.
    pub(super) fn json(&self) -> String {
        format!("{:#}", self.0)
    }

    /// The fields of the reply that this version knows.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(&self.0).or_failed("the reply of the admin endpoint is invalid")
    }
}

pub(super) async fn send(
    address: &AdminAddress,
    token: Option<&str>,
    method: Method,
    path: &str,
    component: Option<Vec<u8>>,
) -> Result<Reply> {
    let failed = |error: BoxError| {
        Error::failed(format!("cannot reach the admin endpoint at `{address}`"))
            .with_source(error)
            .with_hint("it exists while `pointwork serve` runs with `--admin` or with an [admin] in its configuration")
    };
    let request = request(token, method, path, component).map_err(|error| failed(error.into()))?;
    let exchange = match address {
        AdminAddress::Listen(listen) => exchange(TcpStream::connect(listen.as_str()).await, request).await,
        #[cfg(unix)]
        AdminAddress::Socket(path) => exchange(tokio::net::UnixStream::connect(path).await, request).await,
        #[cfg(not(unix))]
        AdminAddress::Socket(_) => Err(std::io::Error::from(std::io::ErrorKind::Unsupported).into()),
    };
    let (status, body) = exchange.map_err(failed)?;
    if !status.is_success() {
        return Err(problem(status, &body));
    }
    serde_json::from_slice(&body)
        .map(Reply)
        .or_failed(format_args!("the server at `{address}` is not an admin endpoint"))
}

fn request(
    token: Option<&str>,
    method: Method,
    path: &str,
    component: Option<Vec<u8>>,
) -> http::Result<Request<Full<Bytes>>> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "pointwork");
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    if let Some(component) = &component {
        let digest = BASE64_STANDARD.encode(Sha256::digest(component));
        request = request
            .header(header::CONTENT_TYPE, "application/wasm")
            .header("content-digest", format!("sha-256=:{digest}:"));
    }
    request.body(Full::from(component.unwrap_or_default()))
}

async fn exchange<S>(stream: std::io::Result<S>, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), BoxError>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    TokioIo<S>: Read + Write,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream?)).await?;
    // It runs beside the request, which reports its errors as well.
    let connection = tokio::spawn(connection);
    let reply = sender.send_request(request).await?;
    let status = reply.status();
    let body = reply.into_body().collect().await?.to_bytes();
    connection.abort();
    Ok((status, body))
}

fn problem(status: StatusCode, body: &[u8]) -> Error {
    let exit = match status {
        StatusCode::CONFLICT | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => Exit::Refused,
        _ => Exit::Failed,
    };
    let Ok(report) = serde_json::from_slice::<ProblemReport>(body) else {
        return Error::new(exit, format!("the admin endpoint replied with {status}"));
    };
    let hint = match status {
        StatusCode::UNAUTHORIZED => Some("name the file with the token: `--token-file FILE`".to_owned()),
        _ => report.hint,
    };
    Error::new(exit, report.message)
        .with_causes(report.causes)
        .with_optional_hint(hint)
}
