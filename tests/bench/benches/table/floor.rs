//! What parts of a request cost alone: its message and its reply, its call of a guest with wasmtime, its line in the access log
//! with tracing-subscriber, and the framing of its head.

use std::hint::black_box;

use anyhow::Result;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use pointwork::Body;
use pointwork_core::adapter::Framing;
use tracing::Dispatch;
use wasmtime::component::{Component, Linker, Resource, ResourceType, TypedFunc};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};

/// Makes a request and a reply as the native handler of the benchmarks has them, and drops them.
pub(crate) fn messages(path: &str) -> Result<()> {
    let request = Request::get(path).header("host", "bench").body(Body::empty())?;
    black_box(&request);
    let mut reply = Response::new(Body::from("42"));
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert(CONTENT_TYPE, text);
    let id = HeaderValue::from_str(&format!("{:08x}-{:x}", 7, 7))?;
    reply.headers_mut().insert("x-request-id", id);
    reply
        .headers_mut()
        .insert("content-length", HeaderValue::from_static("2"));
    black_box(reply);
    Ok(())
}

/// Writes lines to nowhere.
pub(crate) fn access_log() -> Dispatch {
    tracing_subscriber::fmt()
        .with_writer(std::io::sink)
        .with_ansi(false)
        .into()
}

/// A span and a line with the fields of the access log.
pub(crate) fn line(path: &str) {
    let span = tracing::info_span!(
        "request",
        method = %http::Method::GET,
        path,
        request_id = %"00000007-7",
        route = "/native/:id",
        module = "native",
        controller = "native",
        handler = "native",
    );
    // Handlers run in the span, so that their lines have its fields.
    span.in_scope(|| black_box(()));
    tracing::info!(parent: &span, status = 200, micros = 7_u64, "replied");
}

/// The bytes of a head, and who follows them.
pub(crate) struct Head {
    bytes: Vec<u8>,
    framing: Framing,
}

impl Head {
    pub(crate) fn new() -> Self {
        Self {
            bytes: b"GET /items/7 HTTP/1.1\r\nhost: bench\r\nuser-agent: bench/1\r\naccept: */*\r\n\r\n".to_vec(),
            framing: Framing::new(64 * 1024),
        }
    }

    pub(crate) fn follow(&mut self) {
        self.framing.follow(black_box(&mut self.bytes));
    }
}

/// A handler that asks its context for a parameter and returns it.
const GUEST: &str = r#"(component
    (import "context" (type $context (sub resource)))
    (import "param" (func $param
        (param "self" (borrow $context)) (param "name" string) (result (option string))))
    (core module $memory
        (memory (export "memory") 1)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024))
    (core instance $memory (instantiate $memory))
    (core func $param_of (canon lower (func $param)
        (memory $memory "memory") (realloc (func $memory "realloc"))))
    (core func $drop (canon resource.drop $context))
    (core module $code
        (import "memory" "memory" (memory 1))
        (import "host" "param" (func $param (param i32 i32 i32 i32)))
        (import "host" "drop" (func $drop (param i32)))
        (data (i32.const 0) "id")
        (func (export "handle") (param i32 i32) (result i32)
            (call $param (local.get 1) (i32.const 0) (i32.const 2) (i32.const 16))
            (call $drop (local.get 1))
            (i32.store (i32.const 32) (i32.load (i32.const 20)))
            (i32.store (i32.const 36) (i32.load (i32.const 24)))
            (i32.const 32)))
    (core instance $code (instantiate $code
        (with "memory" (instance $memory))
        (with "host" (instance (export "param" (func $param_of)) (export "drop" (func $drop))))))
    (func (export "handle") (param "handler" u32) (param "context" (own $context)) (result string)
        (canon lift (core func $code "handle")
            (memory $memory "memory") (realloc (func $memory "realloc")))))"#;

/// The request of a guest that has no application around it.
struct Parameter;

/// An instance of wasmtime with the settings that Pointwork needs: a pool, fibers, and an end for loops.
pub(crate) struct Wasmtime {
    store: Store<()>,
    handle: TypedFunc<(u32, Resource<Parameter>), (String,)>,
}

impl Wasmtime {
    pub(crate) async fn new() -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config
            .epoch_interruption(true)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(PoolingAllocationConfig::new()));
        let engine = Engine::new(&config)?;
        let component = Component::new(&engine, wat::parse_str(GUEST)?)?;
        let mut linker = Linker::new(&engine);
        linker
            .root()
            .resource("context", ResourceType::host::<Parameter>(), |_, _| Ok(()))?;
        linker
            .root()
            .func_wrap("param", |_, (_, _): (Resource<Parameter>, String)| {
                Ok((Some("42".to_owned()),))
            })?;
        let mut store = Store::new(&engine, ());
        store.set_epoch_deadline(1_000_000);
        let instance = linker.instantiate_async(&mut store, &component).await?;
        let handle = instance.get_typed_func(&mut store, "handle")?;
        Ok(Self { store, handle })
    }

    pub(crate) async fn call(&mut self) -> wasmtime::Result<()> {
        let arguments = (0, Resource::new_own(1));
        let (text,) = self.handle.call_async(&mut self.store, arguments).await?;
        black_box(text);
        Ok(())
    }
}
