//! Guards, after-hooks, extractors that call and the shape of errors, of modules written with the Rust SDK, in both forms
//! (spec U).

use anyhow::Result;
use pointwork::{ModuleLimits, ModuleOptions};
use pointwork_core::{CrashKind, Payload};
use serde_json::{Value, json};

use crate::case::{Harness, cases};
use crate::client::Request;
use crate::fixtures::Fixture;
use crate::subject::AppSpec;

cases![
    host;
    a_guard_lets_a_request_pass_or_refuses_it [RustGuards, RustGuardsAsync]: U1;
    a_guard_runs_before_the_body_is_parsed [RustGuards, RustGuardsAsync]: U1;
    guards_of_one_value_are_told_apart [RustGuards, RustGuardsAsync]: U1;
    a_manifest_has_guards_and_their_events [RustGuards, RustGuardsAsync]: U1, U2, C4;
    a_guard_that_traps_or_loops_ends_its_request_alone [RustGuards, RustGuardsAsync]: U1, E1;
    a_guard_that_replies_by_itself_has_the_one_reply [RustGuards, RustGuardsAsync]: U1, H7;
    after_hooks_change_replies_and_errors [RustGuards, RustGuardsAsync]: U2;
    errors_of_a_module_have_one_shape [RustGuards, RustGuardsAsync]: U3;
];

const FORMS: [Fixture; 2] = [Fixture::RustGuards, Fixture::RustGuardsAsync];

async fn bookings(harness: &Harness, fixture: Fixture) -> Result<AppSpec> {
    let mut limits = ModuleLimits::new();
    limits.cpu = std::time::Duration::from_millis(300);
    let module = harness.fixture(fixture).await?;
    Ok(AppSpec::new()
        .load_with("bookings", module, ModuleOptions::new().limits(limits))
        .answers("users", "verify", |payload| {
            let token: String = payload.to()?;
            Payload::json(&(token != "nobody").then_some(token))
        })
        .answers("bookings", "count", |_| Payload::json(&3))
        .answers("noted", "passed", |_| Ok(Payload::null())))
}

fn get(path: &str, token: &str) -> Request {
    Request::new("GET", path).header("x-token", token)
}

async fn a_guard_lets_a_request_pass_or_refuses_it(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        assert_eq!(live.send(get("/bookings", "ada")).await?.text(), "ada ada 3");
        assert_eq!(live.get("/bookings").await?.status, 401);
        assert_eq!(live.send(get("/bookings", "nobody")).await?.status, 403);
        assert_eq!(live.get("/bookings/open").await?.text(), "open");
        // The guard of the module is for every handler.
        let blocked = live
            .send(Request::new("GET", "/bookings/open").header("x-blocked", "slower"))
            .await?;
        let told = (blocked.status, blocked.header("retry-after"));
        assert_eq!(told, (429, Some("7".to_owned())));
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_guard_runs_before_the_body_is_parsed(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        assert_eq!(live.post_json("/bookings", "no JSON").await?.status, 401);
        let post = |body: &str| {
            Request::new("POST", "/bookings")
                .header("x-token", "ada")
                .body(body.to_owned())
        };
        assert_eq!(live.send(post("no JSON")).await?.status, 400);
        assert_eq!(live.send(post("7")).await?.text(), "booked 7");
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn guards_of_one_value_are_told_apart(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        assert_eq!(live.send(get("/bookings/admin", "ada")).await?.text(), "ada the admin");
        assert_eq!(live.send(get("/bookings/admin", "bob")).await?.status, 403);
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_manifest_has_guards_and_their_events(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        let statuses = live.control().statuses();
        let info = &statuses.first().expect("the module").info;
        let handlers = info.controllers.iter().flat_map(|controller| &controller.handlers);
        let of = |name: &str| {
            let mut handlers = handlers.clone();
            let handler = handlers.find(|handler| handler.name == name).expect("the handler");
            let all = handler
                .metadata
                .iter()
                .filter(|(key, _)| key == "guard" || key == "after");
            all.map(|(_, name)| name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(of("create"), ["NotBlocked", "SignedIn", "Marked", "Named"]);
        assert_eq!(of("admin"), ["NotBlocked", "SignedIn", "Admin", "Marked", "Named"]);
        assert_eq!(of("open"), ["NotBlocked", "Named"]);
        let expected = ["bookings:count", "noted:passed", "users:verify"];
        assert_eq!(info.events_used, expected);
        live.shutdown().await;
    }
    Ok(())
}

async fn a_guard_that_traps_or_loops_ends_its_request_alone(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        assert_eq!(live.get("/odd/traps").await?.status, 500);
        let panicked = |crash: &pointwork_core::Crash| crash.message.contains("this guard panics on purpose");
        let crash = live.crashes().expect("the panic", panicked).await?;
        assert_eq!(crash.kind, CrashKind::Trap);
        let reply = live.get("/odd/loops").await?;
        assert!(reply.status >= 500, "{}", reply.text());
        let limited = |crash: &pointwork_core::Crash| crash.limit.as_deref() == Some("cpu");
        live.crashes().expect("the limit", limited).await?;
        assert_eq!(live.send(get("/bookings/admin", "ada")).await?.status, 200);
        live.shutdown().await;
    }
    Ok(())
}

async fn a_guard_that_replies_by_itself_has_the_one_reply(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        for path in ["/odd/replies", "/odd/refuses"] {
            let reply = live.get(path).await?;
            assert_eq!((reply.status, reply.text().as_str()), (200, "by the guard"), "{path}");
        }
        live.shutdown().await;
    }
    Ok(())
}

async fn after_hooks_change_replies_and_errors(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        for (path, token, status) in [("/bookings", "ada", 200), ("/bookings", "nobody", 403)] {
            let reply = live.send(get(path, token)).await?;
            assert_eq!(
                (reply.status, reply.all("x-after")),
                (status, vec!["block".into(), "module".into()])
            );
            assert_eq!(reply.header("x-route").as_deref(), Some(path));
        }
        assert_eq!(live.get("/bookings/open").await?.all("x-after"), ["module"]);
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn errors_of_a_module_have_one_shape(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        let thrown = live.send(get("/bookings/broken", "ada")).await?;
        assert_eq!(thrown.status, 409);
        assert_eq!(
            thrown.header("content-type").as_deref(),
            Some("application/problem+json")
        );
        assert_eq!(thrown.header("x-room").as_deref(), Some("7"));
        let expected = json!({ "title": "no room", "status": 409, "code": "sold-out" });
        assert_eq!(thrown.json::<Value>()?, expected);
        // The error of a guard, of an argument, and of a call.
        let refused = live.get("/bookings").await?.json::<Value>()?;
        assert_eq!(
            refused,
            json!({ "title": "Unauthorized", "status": 401, "code": "failed" })
        );
        let unread = Request::new("POST", "/bookings").header("x-token", "ada").body("x");
        assert_eq!(live.send(unread).await?.json::<Value>()?["status"], 400);
        live.ends_without_a_crash().await?;
    }
    Ok(())
}
