//! Controllers written with the Rust SDK, in both forms (spec D, H, M).

use anyhow::Result;
use futures_util::future::join_all;
use pointwork::{ModuleLimits, ModuleOptions};
use pointwork_core::{CrashKind, Delivery, Payload};
use pointwork_test_clock::real::until;
use serde_json::{Value, json};

use super::declarations::ATTRIBUTES;
use super::watch::Gate;
use crate::case::{Harness, cases};
use crate::client::Request;
use crate::fixtures::Fixture;
use crate::flavor::Flavor;
use crate::guest::{Channel, End, Program, Step};
use crate::subject::AppSpec;

cases![
    sdk;
    the_rust_sdk_declares_what_its_attributes_say [RustBasic]: D1, D2, D3, D9;
    every_attribute_of_the_rust_sdk_binds_its_handler [RustBasic]: D2;
    items_without_an_attribute_are_no_routes [RustBasic]: D8;
    what_a_controller_inherits_is_no_route [RustBasic]: D7;
    a_controller_takes_part_only_if_its_module_lists_it [RustBasic]: D6;
    typed_parts_of_the_request_arrive [RustBasic]: H2, H9, D4;
    a_typed_part_that_does_not_fit_is_400 [RustBasic]: H8, H9;
    every_kind_of_reply_arrives [RustBasic]: H1, H4, H5 of sdk and adapter;
    typed_events_cross_the_boundary [RustBasic]: H3, H8, C1;
    a_result_of_the_wrong_type_is_a_decode_error [RustBasic]: H8;
    a_rust_controller_gives_its_context_away [RustBasic, RustAsync]: H6;
    a_panic_in_rust_is_told_with_its_message [RustBasic, RustAsync]: E1;
    the_asynchronous_sdk_answers_alike [RustAsync]: H1, H3, D4;
    lines_of_one_instance_stand_in_the_spans_of_their_requests [RustAsync]: H9;
    asynchronous_handlers_wait_side_by_side [RustAsync]: H1, H3;
];

fn products() -> Value {
    json!([{"id": 1, "name": "lamp", "price": 9.5}, {"id": 2, "name": "chair", "price": 20.0}])
}

/// The fixture with the channels that it calls.
async fn shop(harness: &Harness, fixture: Fixture) -> Result<AppSpec> {
    let module = harness.fixture(fixture).await?;
    let replies = Program::new().take_context().step(Step::Send(200)).ends(End::Deferred);
    Ok(AppSpec::new()
        .load("shop", module)
        .answers("db", "product:all", |_| Ok(Payload::json(&products())?))
        .answers("db", "product:by-id", |payload| {
            let id: u64 = payload.to()?;
            let all = products();
            let found = all
                .as_array()
                .and_then(|all| all.iter().find(|product| product["id"] == id));
            Ok(Payload::json(&found)?)
        })
        .answers("product", "viewed", |_| Ok(Payload::null()))
        .channel(Flavor::Native, Channel::new("response").on("send", replies)))
}

async fn the_rust_sdk_declares_what_its_attributes_say(harness: Harness) -> Result<()> {
    let live = harness.start(shop(&harness, Fixture::RustBasic).await?).await?;
    let routes = live.routes();
    let declared = [
        "GET /products",
        "GET /products/:id",
        "GET /products/:id/id",
        "GET /products/search",
        "SEARCH /products",
        "POST /products",
        "DELETE /products/:id",
        "DELETE /products/:id/all",
    ];
    let mut at = 0;
    for route in declared {
        let found = routes.iter().position(|known| known == route);
        let found = found.unwrap_or_else(|| panic!("`{route}` is not in {routes:?}"));
        assert!(
            route.starts_with("SEARCH") || found >= at,
            "`{route}` is out of order in {routes:?}"
        );
        at = found.max(at);
    }
    for method in ["PROPFIND", "LOCK", "NOTIFY"] {
        let response = live.call(method, "/products/4").await?;
        if !harness.is_the_servers_own(method, &response)? {
            assert_eq!(response.text(), format!("{method} 4"));
        }
    }
    for (method, path, text) in [
        ("MOVE", "/health/moved", "moved"),
        ("MOVE", "/health/moved-too", "moved too"),
        ("BREW", "/health", "up"),
    ] {
        let response = live.call(method, path).await?;
        if !harness.is_the_servers_own(method, &response)? {
            assert_eq!(response.text(), text);
        }
    }
    live.shutdown().await;
    Ok(())
}

async fn every_attribute_of_the_rust_sdk_binds_its_handler(harness: Harness) -> Result<()> {
    let live = harness.start(shop(&harness, Fixture::RustBasic).await?).await?;
    // A method without an attribute goes to `all`, and so does a method whose attribute is not used.
    for method in ATTRIBUTES.into_iter().chain(["BREW"]) {
        let known = method != "BREW";
        let own = if known { method.to_lowercase() } else { "all".to_owned() };
        for (path, handler) in [("/methods", own.as_str()), ("/methods/mapped", method)] {
            let response = live.call(method, path).await?;
            if harness.is_the_servers_own(method, &response)? {
                continue;
            }
            let told = (response.status, response.header("x-handler"));
            assert_eq!(told, (200, Some(handler.to_owned())), "{method} {path}");
        }
    }
    let routes = live.control().routes();
    let of_one = |name: &str| {
        let of_this = routes.iter().filter(|route| route.handler.as_deref() == Some(name));
        of_this
            .filter(|route| route.controller.as_deref() == Some("Methods"))
            .count()
    };
    // Each member of `RequestMethod`: the methods of the attributes, and `All`.
    assert_eq!(of_one("mapped"), ATTRIBUTES.len() + 1, "{routes:?}");
    live.ends_without_a_crash().await
}

async fn items_without_an_attribute_are_no_routes(harness: Harness) -> Result<()> {
    let live = harness.start(shop(&harness, Fixture::RustBasic).await?).await?;
    let handlers: Vec<_> = live
        .control()
        .routes()
        .into_iter()
        .filter_map(|route| route.handler)
        .collect();
    assert!(!handlers.iter().any(|handler| handler == "helper"), "{handlers:?}");
    live.shutdown().await;
    Ok(())
}

/// `Health` has a trait's default method too. `guest/rust/tests/ui/inherited.rs` shows that such a method cannot carry
/// an attribute; here only the controller's own handlers become routes.
async fn what_a_controller_inherits_is_no_route(harness: Harness) -> Result<()> {
    let live = harness.start(shop(&harness, Fixture::RustBasic).await?).await?;
    let routes = live.control().routes();
    let of_health = routes
        .iter()
        .filter(|route| route.controller.as_deref() == Some("Health"));
    let handlers: Vec<_> = of_health
        .map(|route| route.handler.as_deref().unwrap_or_default())
        .collect();
    assert_eq!(handlers, ["show", "moved", "moved_too"]);
    for path in ["/inherited", "/health/inherited"] {
        assert_eq!(live.get(path).await?.status, 404, "{path}");
    }
    live.shutdown().await;
    Ok(())
}

async fn a_controller_takes_part_only_if_its_module_lists_it(harness: Harness) -> Result<()> {
    let live = harness.start(shop(&harness, Fixture::RustBasic).await?).await?;
    let controllers: Vec<_> = live
        .control()
        .routes()
        .into_iter()
        .filter_map(|route| route.controller)
        .collect();
    assert!(!controllers.iter().any(|name| name == "Unlisted"), "{controllers:?}");
    assert_eq!(live.get("/unlisted").await?.status, 404);
    live.shutdown().await;
    Ok(())
}

async fn typed_parts_of_the_request_arrive(harness: Harness) -> Result<()> {
    let live = harness.start(shop(&harness, Fixture::RustBasic).await?).await?;
    assert_eq!(live.get("/products/42/id").await?.text(), "42");
    let found = live.get("/products/search?text=l%C3%A4mp+x&page=3&tag=a&tag=b").await?;
    assert_eq!(found.text(), "lämp x, page 3, tags a+b");
    let made = live.post_json("/products", r#"{"name":"desk","price":3.5}"#).await?;
    assert_eq!(
        (made.status, made.json::<Value>()?),
        (201, json!({"id": 7, "name": "desk", "price": 3.5}))
    );
    live.shutdown().await;
    Ok(())
}

async fn a_typed_part_that_does_not_fit_is_400(harness: Harness) -> Result<()> {
    let live = harness.start(shop(&harness, Fixture::RustBasic).await?).await?;
    for body in ["{", "[]", r#"{"name":7,"price":1}"#, r#"{"name":"desk"}"#, ""] {
        let response = live.post_json("/products", body).await?;
        let message = response.message().unwrap_or_default();
        assert_eq!(response.status, 400, "{body}: {message}");
        assert!(
            message.contains("line") && message.contains("column"),
            "the message says where: {message}"
        );
    }
    let path = live.get("/products/seven").await?;
    assert!(
        path.status == 400 && path.message().is_some_and(|text| text.contains("id")),
        "{}",
        path.text()
    );
    let query = live.get("/products/search?page=x").await?;
    assert_eq!(query.status, 400, "{}", query.text());
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn every_kind_of_reply_arrives(harness: Harness) -> Result<()> {
    let live = harness.start(shop(&harness, Fixture::RustBasic).await?).await?;
    let replies: [(&str, u16, &[u8]); 7] = [
        ("text", 200, b"text"),
        ("bytes", 200, &[0, 1, 254, 255]),
        ("headers", 202, b"headers"),
        ("sent", 202, b"sent"),
        ("twice", 200, b"first"),
        ("streamed", 200, b"one two three"),
        ("thrown/418", 418, br#"{"message":"thrown"}"#),
    ];
    for (path, status, body) in replies {
        let response = live.get(&format!("/replies/{path}")).await?;
        assert_eq!((response.status, response.body.as_slice()), (status, body), "{path}");
    }
    assert_eq!(live.get("/replies/none").await?.status, 404);
    assert_eq!(live.get("/replies/nothing").await?.status, 500, "nobody replied");
    assert_eq!(live.get("/replies/headers").await?.all("x-two"), ["2", "3"]);
    let long = vec![7; 50_000];
    assert_eq!(
        live.send(Request::new("POST", "/replies/echo").body(long.clone()))
            .await?
            .body,
        long
    );
    assert_eq!(
        live.send(Request::new("POST", "/replies/count").body(long))
            .await?
            .text(),
        "50000"
    );
    live.shutdown().await;
    Ok(())
}

async fn typed_events_cross_the_boundary(harness: Harness) -> Result<()> {
    let live = harness.start(shop(&harness, Fixture::RustBasic).await?).await?;
    assert_eq!(live.get("/products").await?.json::<Value>()?, products());
    assert_eq!(live.get("/products/2").await?.json::<Value>()?, products()[1]);
    let missing = live.get("/products/3").await?;
    assert_eq!(
        (missing.status, missing.message().as_deref()),
        (404, Some("no such product"))
    );
    live.shutdown().await;
    Ok(())
}

async fn a_result_of_the_wrong_type_is_a_decode_error(harness: Harness) -> Result<()> {
    let module = harness.fixture(Fixture::RustBasic).await?;
    let app = AppSpec::new()
        .load("shop", module)
        .answers("db", "product:all", |_| Ok(Payload::json("no list")?));
    let live = harness.start(app).await?;
    let response = live.get("/products").await?;
    assert_eq!(
        (response.status, response.message().as_deref()),
        (500, Some("the server could not answer the request")),
        "a trap is told in other words"
    );
    // The detail that the handler gets and the client does not.
    let told = live.get("/replies/undecoded").await?.text();
    assert!(told.starts_with("bad-payload: "), "{told}");
    assert!(told.contains("db:product:all") && told.contains("no list"), "{told}");
    live.ends_without_a_crash().await?;
    Ok(())
}

async fn a_rust_controller_gives_its_context_away(harness: Harness) -> Result<()> {
    for (fixture, path) in [
        (Fixture::RustBasic, "/replies/given-away"),
        (Fixture::RustAsync, "/waits/given-away"),
    ] {
        let live = harness.start(shop(&harness, fixture).await?).await?;
        assert_eq!(live.get(path).await?.text(), "\"by the channel\"");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_panic_in_rust_is_told_with_its_message(harness: Harness) -> Result<()> {
    for (fixture, path) in [
        (Fixture::RustBasic, "/replies/panic"),
        (Fixture::RustAsync, "/waits/panic"),
    ] {
        let live = harness.start(shop(&harness, fixture).await?).await?;
        assert_eq!(live.get(path).await?.status, 500);
        let crash = live
            .crashes()
            .expect("the panic", |crash| crash.kind == CrashKind::Trap)
            .await?;
        assert!(
            crash.message.contains("this handler panics on purpose"),
            "{}",
            crash.message
        );
        live.shutdown().await;
    }
    Ok(())
}

async fn the_asynchronous_sdk_answers_alike(harness: Harness) -> Result<()> {
    let live = harness.start(shop(&harness, Fixture::RustAsync).await?).await?;
    assert_eq!(live.get("/products").await?.json::<Value>()?, products());
    assert_eq!(live.get("/products/2").await?.json::<Value>()?, products()[1]);
    assert_eq!(live.get("/products/3").await?.status, 404);
    assert_eq!(live.get("/products/42/id").await?.text(), "42");
    assert_eq!(live.get("/health").await?.text(), "up, GET");
    // A plain function, whose argument is the body.
    let echoed = live.send(Request::new("POST", "/echo").body("a body")).await?;
    assert_eq!(echoed.text(), "a body");
    assert_eq!(live.get("/waits/streamed").await?.text(), "one two three");
    assert_eq!(
        live.send(Request::new("POST", "/waits/count").body(vec![7; 50_000]))
            .await?
            .text(),
        "50000"
    );
    live.shutdown().await;
    Ok(())
}

/// The asynchronous guest, whose handlers wait at the gate.
async fn waiting(harness: &Harness, name: &str, gate: &Gate) -> Result<AppSpec> {
    let pass = gate.clone();
    let component = harness.fixture(Fixture::RustAsync).await?;
    // Calls go to an instance that no thread runs at the moment: one instance has to take them all.
    let options = ModuleOptions::new().limits(ModuleLimits::new().instances(1));
    let app = AppSpec::new().load_with(name, component, options);
    Ok(app.listen("clock", "wait", move |_: Delivery, _: Payload| {
        let pass = pass.clone();
        async move {
            pass.pass().await;
            Ok(Payload::null())
        }
    }))
}

async fn lines_of_one_instance_stand_in_the_spans_of_their_requests(harness: Harness) -> Result<()> {
    const MANY: u32 = 8;
    let gate = Gate::new();
    let live = harness.start(waiting(&harness, "side-by-side", &gate).await?).await?;
    let client = *live;
    let ask = move |number: u32| async move {
        let request = Request::new("GET", "/waits/1/logged").header("x-request-id", format!("side-by-side-{number}"));
        client.send(request).await
    };
    let asked = tokio::spawn(join_all((0..MANY).map(ask)));
    // All of them are in flight in one instance.
    gate.arrived(MANY).await?;
    gate.open();
    let mut numbers = Vec::new();
    for reply in asked.await? {
        numbers.push(reply?.text().parse::<u32>()?);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..MANY).collect::<Vec<_>>(), "one instance counts them");
    let lines = || {
        let mut lines = harness.logs().everywhere();
        lines.retain(|line| line.text.contains("module=side-by-side") && line.text.starts_with("number "));
        lines
    };
    // A host in another language writes them when the guest has let go of the thread.
    until("all lines are there", || lines().len() >= 2 * MANY as usize).await?;
    let lines = lines();
    assert_eq!(lines.len(), 2 * MANY as usize, "{lines:#?}");
    for line in lines {
        let request = line.request.as_deref().unwrap_or("(none)");
        assert!(
            line.text.contains(&format!("fields=of={request}")),
            "{request}: {}",
            line.text
        );
    }
    // Each request began a line before the first of them ended its own.
    let printed = || {
        let mut lines = harness.logs().everywhere();
        lines.retain(|line| line.text.contains("module=side-by-side") && line.text.contains("from=stdout"));
        lines
    };
    until("all printed lines are there", || printed().len() >= MANY as usize).await?;
    let printed = printed();
    assert_eq!(printed.len(), MANY as usize, "{printed:#?}");
    for line in printed {
        let request = line.request.as_deref().unwrap_or("(none)");
        let whole = format!("{request} begins and ends its line ");
        assert!(line.text.starts_with(&whole), "{request}: {}", line.text);
    }
    live.shutdown().await;
    Ok(())
}

async fn asynchronous_handlers_wait_side_by_side(harness: Harness) -> Result<()> {
    const MANY: u32 = 50;
    let gate = Gate::new();
    let live = harness.start(waiting(&harness, "shop", &gate).await?).await?;
    let client = *live;
    let asked = tokio::spawn(join_all(
        (0..MANY).map(move |_| async move { client.get("/waits/1").await }),
    ));
    // No call continues before all of them wait.
    gate.arrived(MANY).await?;
    gate.open();
    for reply in asked.await? {
        assert_eq!(reply?.text(), "waited");
    }
    live.shutdown().await;
    Ok(())
}
