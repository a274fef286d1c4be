//! Guards, after-hooks, extractors that call and the shape of errors, of modules written with the Rust SDK, in both forms
//! (spec U).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use pointwork::{ModuleLimits, ModuleOptions};
use pointwork_core::{CrashKind, Delivery, Payload};
use serde_json::{Value, json};

use crate::case::{Harness, cases};
use crate::client::Request;
use crate::fixtures::Fixture;
use crate::subject::AppSpec;

cases![
    sdk;
    a_guard_lets_a_request_pass_or_refuses_it [RustGuards, RustGuardsAsync]: U1;
    a_guard_runs_before_the_body_is_parsed [RustGuards, RustGuardsAsync]: U1;
    guards_of_one_value_are_told_apart [RustGuards, RustGuardsAsync]: U1;
    a_manifest_has_guards_and_their_events [RustGuards, RustGuardsAsync]: U1, U2, C4;
    a_guard_that_traps_or_loops_ends_its_request_alone [RustGuards, RustGuardsAsync]: U1, E1;
    a_guard_that_replies_by_itself_has_the_one_reply [RustGuards, RustGuardsAsync]: U1, H7;
    a_guard_that_reads_the_body_has_it_alone [RustGuards, RustGuardsAsync]: U1;
    a_guard_runs_once_for_arguments_that_are_made_at_once [RustGuards, RustGuardsAsync]: U1;
    arguments_that_call_are_optional_or_results [RustGuards, RustGuardsAsync]: U4;
    wrong_headers_are_errors_for_hooks_and_the_shape [RustGuards, RustGuardsAsync]: U2, U3, H18;
    a_condition_that_fails_is_an_error_for_hooks_and_the_shape [RustGuards, RustGuardsAsync]: U3, H22;
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
            Ok(Payload::json(&(token != "nobody").then_some(token))?)
        })
        .answers("bookings", "count", |_| Ok(Payload::json(&3)?))
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
        let paths = |names: &[&str]| names.iter().map(|name| format!("doors::{name}")).collect::<Vec<_>>();
        assert_eq!(of("create"), paths(&["NotBlocked", "SignedIn", "Marked", "Named"]));
        assert_eq!(
            of("admin"),
            paths(&["NotBlocked", "SignedIn", "Admin", "Marked", "Named"])
        );
        assert_eq!(of("open"), paths(&["NotBlocked", "Named"]));
        // An argument that gives the handler the error refuses no request.
        assert_eq!(of("user"), paths(&["NotBlocked", "Named"]));
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
        // A busy machine may give the loop so little of the processor that the deadline comes first.
        let limited = |crash: &pointwork_core::Crash| matches!(crash.limit.as_deref(), Some("cpu" | "deadline"));
        live.crashes().expect("the limit", limited).await?;
        assert_eq!(live.send(get("/bookings/admin", "ada")).await?.status, 200);
        live.shutdown().await;
    }
    Ok(())
}

async fn a_guard_that_replies_by_itself_has_the_one_reply(harness: Harness) -> Result<()> {
    for (count, fixture) in (1..).zip(FORMS) {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        for path in ["/odd/replies", "/odd/refuses"] {
            let reply = live.get(path).await?;
            assert_eq!((reply.status, reply.text().as_str()), (200, "by the guard"), "{path}");
            // The reply of the handler, or the error of the guard.
            let route = format!("GET {path}");
            let refused = |crash: &pointwork_core::Crash| crash.route.as_deref() == Some(&route);
            let crash = live.crashes().expect("the second reply", refused).await?;
            assert_eq!(crash.kind, CrashKind::Reply, "{path}");
        }
        let ran = harness.logs().containing("the handler runs", count).await?;
        assert_eq!(ran.len(), count, "only behind the guard that lets the request pass");
        live.shutdown().await;
    }
    Ok(())
}

async fn a_guard_that_reads_the_body_has_it_alone(harness: Harness) -> Result<()> {
    for (count, fixture) in (1..).zip(FORMS) {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        let post = |path: &str| Request::new("POST", path).body("tea".to_owned());
        assert_eq!(live.send(post("/odd/reads")).await?.text(), "tea");
        assert_eq!(live.send(post("/odd/reads-both")).await?.status, 500);
        harness.logs().containing("`text` failed with `gone`", count).await?;
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_guard_runs_once_for_arguments_that_are_made_at_once(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let module = harness.fixture(fixture).await?;
        let app = AppSpec::new()
            .load("bookings", module)
            .answers("noted", "passed", |_| Ok(Payload::null()));
        let app = app.listen("users", "verify", move |_: Delivery, payload: Payload| {
            counted.fetch_add(1, Ordering::Relaxed);
            async {
                // The guard waits, and the second argument comes to it.
                tokio::task::yield_now().await;
                Ok(payload)
            }
        });
        let live = harness.start(app).await?;
        assert_eq!(live.send(get("/arguments/twice", "ada")).await?.text(), "ada ada ada");
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        assert_eq!(live.get("/arguments/twice").await?.status, 401);
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn arguments_that_call_are_optional_or_results(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        assert_eq!(live.send(get("/arguments/guest", "ada")).await?.text(), "ada");
        assert_eq!(live.get("/arguments/guest").await?.text(), "nobody");
        assert_eq!(live.send(get("/arguments/guest", "nobody")).await?.status, 403);
        assert_eq!(live.send(get("/arguments/user", "ada")).await?.text(), "ada");
        assert_eq!(live.get("/arguments/user").await?.text(), "Unauthorized");
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn wrong_headers_are_errors_for_hooks_and_the_shape(harness: Harness) -> Result<()> {
    for (count, fixture) in (1..).zip(FORMS) {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        for (path, header) in [("/wrong/header", "x-to"), ("/wrong/hook", "x-forged")] {
            let reply = live.get(path).await?;
            let expected = json!({
                "title": "the server could not answer the request", "status": 500, "code": "invalid-reply"
            });
            assert_eq!((reply.status, reply.json::<Value>()?), (500, expected), "{path}");
            assert_eq!(
                (reply.all("x-after"), reply.header(header)),
                (vec!["module".into()], None),
                "{path}"
            );
            let text = format!("the value of header `{header}` has the byte 10 at position 1");
            let lines = harness.logs().containing(&text, count).await?;
            assert!(
                lines.iter().all(|line| line.text.contains("it is made at ")),
                "{lines:?}"
            );
        }
        // One of the function behind `errors:` leaves the error as it is, with the body that it has without the function.
        let reply = live.get("/wrong/shape").await?;
        assert_eq!((reply.status, reply.header("x-room").as_deref()), (404, Some("7")));
        assert_eq!(reply.json::<Value>()?, json!({ "message": "no\nroom" }));
        harness
            .logs()
            .containing("the function behind `errors:` failed", count)
            .await?;
        live.ends_without_a_crash().await?;
    }
    Ok(())
}

async fn a_condition_that_fails_is_an_error_for_hooks_and_the_shape(harness: Harness) -> Result<()> {
    for fixture in FORMS {
        let live = harness.start(bookings(&harness, fixture).await?).await?;
        let stale = Request::new("GET", "/wrong/stale").header("if-match", "\"v6\"");
        let reply = live.send(stale).await?;
        assert_eq!((reply.status, reply.all("x-after")), (412, vec!["module".into()]));
        let title = "the present version does not fit the conditions of the request";
        assert_eq!(
            reply.json::<Value>()?,
            json!({ "title": title, "status": 412, "code": "failed" })
        );
        live.ends_without_a_crash().await?;
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
