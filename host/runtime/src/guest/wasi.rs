//! The grants of a module, as WASI 0.2 shows them to a guest.

use std::fmt;
use std::future::Future;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::uri::Scheme;
use parking_lot::Mutex;
use pointwork_core::one_line;
use tokio::io::AsyncWrite;
use tracing::Span;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream as WasiStream, Pollable, StreamError, StreamResult};
use wasmtime_wasi::sockets::SocketAddrUse;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView};

use super::Guest;
use super::budget::Budget;
use super::output::{LineBuffer, LineLog, OutputStream};
use super::spans::CurrentCall;
use crate::grants::{Access, Capability, Grants};
use crate::guest::limiter::Exceeded;
use crate::variables::{PROGRAM, Values};

/// The most bytes of one list of headers that a guest makes for a request of its own.
const MAX_FIELDS: usize = 32 * 1024;

/// The part of a store that only modules with grants use.
#[derive(Default)]
pub(crate) struct Wasi {
    context: WasiCtx,
    http: WasiHttpCtx,
    http_grants: HttpGrants,
    /// The standard output and the standard error, if they are granted.
    output: Vec<Lines>,
}

pub(crate) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)
}

impl Wasi {
    /// Everything that is granted, and nothing else.
    ///
    /// # Errors
    /// If a directory cannot be opened.
    pub(super) fn new(
        grants: &Arc<Grants>,
        variables: &Values,
        module: &Arc<str>,
        lines: &Arc<Budget>,
        call: &CurrentCall,
    ) -> wasmtime::Result<Self> {
        let mut builder = WasiCtxBuilder::new();
        let mut output = Vec::new();
        if grants.has(Capability::Output) {
            let streams = [OutputStream::Output, OutputStream::Error];
            let [standard, error] = streams.map(|stream| Lines::new(module, stream, lines, call));
            output.extend([standard.clone(), error.clone()]);
            builder.stdout(standard).stderr(error);
        }
        if grants.has(Capability::Environment) {
            for (name, value) in variables.iter().filter(|(name, _)| name != PROGRAM) {
                builder.env(name, value);
            }
        }
        for directory in grants.directories.iter().flatten() {
            let permissions = match directory.access {
                Access::ReadOnly => FsPerms::ReadOnly,
                Access::ReadWrite => FsPerms::ReadWrite,
            };
            builder
                .preopened_dir(&directory.host, &directory.guest, permissions)
                .map_err(|error| {
                    error.context(format!(
                        "the directory `{}` cannot be opened for the guest's `{}`",
                        directory.host.display(),
                        directory.guest
                    ))
                })?;
        }
        let denials = Denials {
            module: module.clone(),
            lines: lines.clone(),
            call: call.clone(),
        };
        let of_sockets = denials.clone();
        let allowed: Arc<[String]> = grants.sockets.iter().flatten().cloned().collect();
        builder
            .allow_udp(false)
            .allow_ip_name_lookup(!allowed.is_empty())
            .allow_tcp(!allowed.is_empty())
            .socket_addr_check(move |address, purpose| check_socket(allowed.clone(), address, purpose, &of_sockets));
        Ok(Self {
            context: builder.build(),
            http: {
                let mut http = WasiHttpCtx::new();
                http.set_field_size_limit(MAX_FIELDS);
                http
            },
            http_grants: HttpGrants {
                grants: grants.clone(),
                denials: Some(denials),
            },
            output,
        })
    }

    /// Logs the lines that have no newline: a call begins or ends.
    pub(super) fn end_lines(&self) {
        for lines in &self.output {
            lines.0.end();
        }
    }
}

// A module that imports only the contract is linked without WASI, so that nobody reaches the empty contexts below.

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi.get_or_insert_default().context,
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let wasi = self.wasi.get_or_insert_default();
        WasiHttpCtxView {
            hooks: &mut wasi.http_grants,
            table: &mut self.table,
            ctx: &mut wasi.http,
        }
    }
}

type Allowed = Pin<Box<dyn Future<Output = bool> + Send + Sync>>;

/// Lets a guest connect to the addresses that it was granted. The system binds a local port for it, which is not a listener.
fn check_socket(allowed: Arc<[String]>, address: SocketAddr, purpose: SocketAddrUse, denials: &Denials) -> Allowed {
    let denials = denials.clone();
    match purpose {
        SocketAddrUse::TcpBind => Box::pin(async move { address.port() == 0 }),
        SocketAddrUse::TcpConnect => Box::pin(async move {
            let names = move || {
                let mut resolved = allowed.iter().filter_map(|name| name.to_socket_addrs().ok()).flatten();
                resolved.any(|allowed| allowed == address)
            };
            let allowed = wasmtime_wasi::runtime::spawn_blocking(names).await;
            if !allowed {
                denials.log(format_args!(
                    "a connection to `{address}` was denied: the module was not granted it (`sockets = […]`)"
                ));
            }
            allowed
        }),
        _ => Box::pin(async { false }),
    }
}

/// Sends requests to the hosts that were granted.
#[derive(Default)]
struct HttpGrants {
    grants: Arc<Grants>,
    denials: Option<Denials>,
}

/// Logs what a guest was denied, as lines of the guest's.
#[derive(Clone)]
struct Denials {
    module: Arc<str>,
    lines: Arc<Budget>,
    call: CurrentCall,
}

impl Denials {
    fn log(&self, line: fmt::Arguments<'_>) {
        if matches!(self.lines.spend(&self.module), Ok(None)) {
            let _entered = self.call.line_span().map(Span::entered);
            tracing::warn!(module = &*self.module, "{line}");
        }
    }
}

type Answer = Result<
    (
        http::Response<WasiBody>,
        Box<dyn Future<Output = Result<(), Error>> + Send>,
    ),
    Error,
>;

impl WasiHttpHooks for HttpGrants {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Answer> + Send> {
        let uri = request.uri();
        let default_port = if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
        let allowed = uri
            .authority()
            .is_some_and(|authority| self.grants.allows_http(authority, default_port));
        if let Some(denials) = self.denials.as_ref().filter(|_| !allowed) {
            let to = uri.authority().map_or("no host at all", |authority| authority.as_str());
            let to = one_line(to, 255);
            denials.log(format_args!(
                "a request to `{to}` was denied: the module was not granted it (`http = […]`)"
            ));
        }
        Box::new(async move {
            if !allowed {
                return Err(Error::HttpRequestDenied);
            }
            let (response, sending) = wasmtime_wasi_http::default_send_request(request, options).await?;
            let response = response.map(http_body_util::BodyExt::boxed_unsync);
            Ok((response, Box::new(sending) as Box<dyn Future<Output = _> + Send>))
        })
    }
}

/// Standard output or error: each line becomes a line of the log.
#[derive(Clone)]
struct Lines(Arc<StreamLines>);

struct StreamLines {
    module: Arc<str>,
    stream: OutputStream,
    lines: Arc<Budget>,
    call: CurrentCall,
    begun: Mutex<LineBuffer>,
}

impl Lines {
    fn new(module: &Arc<str>, stream: OutputStream, lines: &Arc<Budget>, call: &CurrentCall) -> Self {
        Self(Arc::new(StreamLines {
            module: module.clone(),
            stream,
            lines: lines.clone(),
            call: call.clone(),
            begun: Mutex::default(),
        }))
    }
}

impl StreamLines {
    /// # Errors
    /// If the call's budget of lines is spent.
    fn take(&self, bytes: &[u8]) -> Result<(), Exceeded> {
        self.begun.lock().add(bytes, |line| self.log().write(self.stream, line))
    }

    fn end(&self) {
        let mut begun = self.begun.lock();
        if !begun.is_empty() {
            self.log().end(self.stream, &mut begun);
        }
    }

    fn log(&self) -> LineLog<'_> {
        LineLog {
            module: &self.module,
            lines: &self.lines,
            span: self.call.line_span(),
        }
    }
}

impl IsTerminal for Lines {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Lines {
    // For WASI 0.3, which no module is linked with.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn WasiStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {}
}

impl WasiStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0
            .take(&bytes)
            .map_err(|exceeded| StreamError::Trap(exceeded.into()))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 * 1024)
    }
}
