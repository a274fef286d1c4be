//! The grants of a module, and its calls without them (spec C5). The guest tries every interface and returns the
//! results.

use std::net::SocketAddr;

use anyhow::Result;
use pointwork_core::Context;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::case::{Harness, Live, cases};
use crate::fixtures::Fixture;
use crate::logs::Line;
use crate::subject::{AppSpec, ModuleSettings};

cases![
    host;
    what_is_not_granted_refuses_the_module_by_name [RustWasi]: C5 in hosts;
    an_interface_with_nothing_behind_it_reaches_nothing [RustWasi]: C5;
    a_directory_is_what_was_granted_and_no_more [RustWasi]: C5;
    variables_are_those_of_the_module [RustWasi]: C5, V1 in hosts;
    output_goes_to_the_log [RustWasi]: C5;
    a_connection_goes_to_a_granted_address_only [RustWasi]: C5;
    a_request_goes_to_a_granted_host_only [RustWasi]: C5;
];

/// Every interface that the guest imports, granted with nothing behind it.
fn interfaces() -> Value {
    json!({
        "clocks": true,
        "random": true,
        "output": true,
        "environment": true,
        "directories": [],
        "sockets": [],
        "http": [],
    })
}

/// The same with another value for one of them.
fn interfaces_with(key: &str, value: Value) -> Value {
    let mut grant = interfaces();
    grant[key] = value;
    grant
}

/// Calls the event that the path names with the body, and replies with the result.
async fn relay(ctx: Context) -> Result<String, pointwork_core::Failure> {
    let payload = pointwork_core::Payload::new(pointwork_core::JSON, ctx.bytes().await?);
    let event = format!("outside:{}", ctx.param("event").unwrap_or_default());
    let told = match ctx.call_raw(&event, payload).await {
        Ok(result) => json!({ "ok": result.to::<Value>()? }),
        Err(failure) => json!({ "failed": failure.message() }),
    };
    Ok(told.to_string())
}

async fn start(harness: &Harness, grant: Value) -> Result<Live> {
    let component = harness.fixture(Fixture::RustWasi).await?;
    let app = AppSpec::new().load_with("outside", component, ModuleSettings::granting(grant));
    Ok(harness.start(app.register("POST", "/:event", relay)).await?)
}

/// The result of an event.
async fn tell(live: &Live, event: &str, payload: Value) -> Result<Value> {
    let reply = live.post_json(&format!("/{event}"), &payload.to_string()).await?;
    Ok(reply.json()?)
}

fn failed(told: &Value) -> bool {
    told["failed"].is_string()
}

async fn what_is_not_granted_refuses_the_module_by_name(harness: Harness) -> Result<()> {
    let component = harness.fixture(Fixture::RustWasi).await?;
    let refusal = harness
        .refusal(AppSpec::new().load("outside", component.clone()))
        .await?;
    for interface in [
        "wasi:filesystem/types@",
        "wasi:sockets/tcp@",
        "wasi:http/outgoing-handler@",
        "wasi:cli/environment@",
    ] {
        assert!(refusal.contains(interface), "`{interface}` is not in: {refusal}");
    }
    assert!(
        refusal.contains("`outside`") && refusal.contains("not granted"),
        "{refusal}"
    );
    let without_http = ModuleSettings::granting(interfaces_with("http", Value::Null));
    let app = AppSpec::new().load_with("outside", component, without_http);
    let refusal = harness.refusal(app).await?;
    assert!(refusal.contains("wasi:http/"), "{refusal}");
    assert!(
        !refusal.contains("wasi:filesystem") && !refusal.contains("wasi:io"),
        "{refusal}"
    );
    Ok(())
}

async fn an_interface_with_nothing_behind_it_reaches_nothing(harness: Harness) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let live = start(&harness, interfaces()).await?;
    assert!(failed(&tell(&live, "read", json!("/etc/hostname")).await?));
    assert!(failed(&tell(&live, "read", json!("Cargo.toml")).await?));
    assert_eq!(tell(&live, "variables", json!(null)).await?, json!({ "ok": 0 }));
    assert!(failed(&tell(&live, "connect", json!(address)).await?));
    let target = json!({ "authority": address, "path": "/" });
    assert!(failed(&tell(&live, "fetch", target).await?));
    assert_eq!(tell(&live, "clocks", json!(null)).await?, json!({ "ok": true }));
    live.shutdown().await;
    Ok(())
}

async fn a_directory_is_what_was_granted_and_no_more(harness: Harness) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (data, books) = (folder.path().join("data"), folder.path().join("books"));
    std::fs::create_dir(&data)?;
    std::fs::create_dir(&books)?;
    std::fs::write(books.join("book"), "once upon a time")?;
    std::fs::write(folder.path().join("secret"), "nobody may read this")?;
    std::os::unix::fs::symlink(folder.path().join("secret"), data.join("link"))?;
    let directories = json!([
        { "host": data, "guest": "/data", "access": "read-write" },
        { "host": books, "guest": "/books", "access": "read-only" },
    ]);
    let live = start(&harness, interfaces_with("directories", directories)).await?;
    let write = |path: &str| json!({ "path": path, "text": "written by a guest" });
    assert_eq!(tell(&live, "write", write("/data/note")).await?, json!({ "ok": null }));
    assert_eq!(std::fs::read_to_string(data.join("note"))?, "written by a guest");
    assert_eq!(
        tell(&live, "read", json!("/data/note")).await?,
        json!({ "ok": "written by a guest" })
    );
    assert_eq!(
        tell(&live, "read", json!("/books/book")).await?,
        json!({ "ok": "once upon a time" })
    );
    assert!(failed(&tell(&live, "write", write("/books/book")).await?));
    assert!(failed(&tell(&live, "write", write("/books/another")).await?));
    for path in ["/data/../secret", "/data/link", "/secret", "../secret", "/etc/hostname"] {
        assert!(failed(&tell(&live, "read", json!(path)).await?), "{path}");
    }
    assert_eq!(std::fs::read_to_string(books.join("book"))?, "once upon a time");
    live.shutdown().await;
    Ok(())
}

async fn variables_are_those_of_the_module(harness: Harness) -> Result<()> {
    let component = harness.fixture(Fixture::RustWasi).await?;
    let settings = ModuleSettings::granting(interfaces()).variables(json!({ "COLOUR": "green" }));
    let app = AppSpec::new().load_with("outside", component, settings);
    let live = harness.start(app.register("POST", "/:event", relay)).await?;
    assert_eq!(
        tell(&live, "variable", json!("COLOUR")).await?,
        json!({ "ok": "green" })
    );
    assert_eq!(tell(&live, "variable", json!("PATH")).await?, json!({ "ok": null }));
    assert_eq!(tell(&live, "variables", json!(null)).await?, json!({ "ok": 1 }));
    live.shutdown().await;
    Ok(())
}

async fn output_goes_to_the_log(harness: Harness) -> Result<()> {
    let live = start(&harness, interfaces()).await?;
    let text = format!("output_goes_to_the_log on {}", harness.subject());
    tell(&live, "print", json!(text)).await?;
    tell(&live, "print", json!(text)).await?;
    harness
        .logs()
        .containing(&format!("{text}, to standard error"), 2)
        .await?;
    let begun = format!("{text}, begun");
    let lines = harness.logs().containing(&begun, 2).await?;
    let is_whole = |line: &Line| line.text.starts_with(&format!("{begun} module="));
    assert!(lines.len() == 2 && lines.iter().all(is_whole), "{lines:#?}");
    live.shutdown().await;
    Ok(())
}

/// Answers every connection with the same bytes after its first line, and closes it.
async fn answering(bytes: &'static str) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut line = [0; 1];
            while stream.read_exact(&mut line).await.is_ok() && line != *b"\n" {}
            // The client may be gone.
            let _ = stream.write_all(bytes.as_bytes()).await;
        }
    });
    Ok(address)
}

async fn a_connection_goes_to_a_granted_address_only(harness: Harness) -> Result<()> {
    let granted = answering("hello yourself").await?;
    let other = answering("never to be read").await?;
    let live = start(&harness, interfaces_with("sockets", json!([granted.to_string()]))).await?;
    let told = tell(&live, "connect", json!(granted.to_string())).await?;
    assert_eq!(told, json!({ "ok": "hello yourself" }));
    assert!(failed(&tell(&live, "connect", json!(other.to_string())).await?));
    assert!(failed(&tell(&live, "listen", json!(null)).await?));
    assert!(failed(&tell(&live, "datagram", json!(granted.to_string())).await?));
    live.shutdown().await;
    Ok(())
}

async fn a_request_goes_to_a_granted_host_only(harness: Harness) -> Result<()> {
    let reply = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
    let (granted, other) = (answering(reply).await?, answering(reply).await?);
    let live = start(&harness, interfaces_with("http", json!([granted.to_string()]))).await?;
    let target = |address: SocketAddr| json!({ "authority": address.to_string(), "path": "/" });
    assert_eq!(
        tell(&live, "fetch", target(granted)).await?,
        json!({ "ok": "200 hello" })
    );
    let told = tell(&live, "fetch", target(other)).await?;
    assert!(
        told["failed"]
            .as_str()
            .is_some_and(|text| text.contains("RequestDenied")),
        "{told}"
    );
    live.shutdown().await;
    Ok(())
}
