//! The admin endpoint, off unless it is configured (spec S3), by requests and by the commands that are its clients.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::json;
use snapbox::str;

use crate::server::{Reply, Server, request, try_request};
use crate::versions::{configured, rival, served, version};
use crate::{Says, folder, pointwork, refused, run, stderr, write};

const TOKEN: &str = "4uQ8cVfN1xW7kR2pZ9sT0bY6";

const SOCKET: &str = "[admin]\nsocket = \"admin.sock\"";

fn digest(server: &Server) -> String {
    let module = server.admin("GET", "/modules/shop", b"");
    assert_eq!(module.status, 200, "{module:?}");
    module.json()["digest"].as_str().expect("text").to_owned()
}

#[test]
fn module_is_swapped_rolled_back_removed_and_loaded_again() {
    let folder = configured(SOCKET);
    let server = Server::start(folder.path(), [""; 0]);
    let first = digest(&server);

    let swapped = server.admin("PUT", "/modules/shop", &version(2));
    assert_eq!(swapped.status, 200, "{swapped:?}");
    let swapped = swapped.json();
    assert_eq!(
        (&swapped["kind"], &swapped["previous"]),
        (&json!("swapped"), &json!(first))
    );
    assert_eq!(
        swapped["routes"],
        json!({"added": ["GET /only/2"], "removed": ["GET /only/1"], "kept": ["GET /version"]})
    );
    assert_eq!(served(&server), 2);
    assert_eq!(swapped["digest"], json!(digest(&server)));

    let back = server.admin("POST", "/modules/shop/rollback", b"").json();
    assert_eq!((&back["kind"], &back["digest"]), (&json!("rolled-back"), &json!(first)));
    assert_eq!(served(&server), 1);

    let removed = server.admin("DELETE", "/modules/shop", b"").json();
    assert_eq!(
        (&removed["kind"], &removed["digest"]),
        (&json!("removed"), &json!(null))
    );
    assert_eq!(server.get("/version").status, 404);
    assert_eq!(server.admin("GET", "/modules", b"").json(), json!([]));

    let loaded = server.admin("PUT", "/modules/shop", &version(3));
    assert_eq!(loaded.status, 201, "{loaded:?}");
    assert_eq!(loaded.json()["routes"]["added"], json!(["GET /version", "GET /only/3"]));
    assert_eq!(served(&server), 3);
}

#[test]
fn upload_of_the_version_that_serves_changes_nothing() {
    let folder = configured(SOCKET);
    let server = Server::start(folder.path(), [""; 0]);
    let first = digest(&server);
    server.admin("PUT", "/modules/shop", &version(2));
    let same = server.admin("PUT", "/modules/shop", &version(2));
    assert_eq!(same.status, 200, "{same:?}");
    let same = same.json();
    assert_eq!(
        (&same["kind"], &same["digest"], &same["previous"]),
        (&json!("unchanged"), &json!(digest(&server)), &json!(digest(&server)))
    );
    assert_eq!(
        same["routes"],
        json!({"added": [], "removed": [], "kept": ["GET /version", "GET /only/2"]})
    );
    let back = server.admin("POST", "/modules/shop/rollback", b"").json();
    assert_eq!(back["digest"], json!(first));

    write(&folder, "one.wasm", version(1));
    run(&folder, "swap shop one.wasm --admin admin.sock")
        .assert()
        .success()
        .stdout_eq(str![[r#"
module `shop` unchanged
  version  [..]
  added    nothing
  removed  nothing
  kept     GET /version
           GET /only/1

"#]]);
}

#[test]
fn refusals_have_a_fitting_status_and_change_nothing() {
    let folder = configured(&format!("{SOCKET}\n[compile]\nsize = \"1MiB\""));
    let server = Server::start(folder.path(), [""; 0]);
    let first = digest(&server);
    let whole = version(2);
    for (method, target, body, status) in [
        ("PUT", "/modules/shop", &b"no component"[..], 422),
        ("PUT", "/modules/shop", &whole[..whole.len() / 2], 422),
        ("PUT", "/modules/shop", &b""[..], 422),
        ("PUT", "/modules/shop", &vec![0; 1024 * 1024 + 1], 413),
        ("PUT", "/modules/rival", &rival(), 409),
        ("PUT", "/modules/%00", &whole, 400),
        ("PUT", "/modules/sh%E2%80%AEop", &whole, 400),
        ("PUT", "/modules/sh%E2%80%A8op", &whole, 400),
        ("POST", "/modules/shop/rollback", b"", 409),
        ("POST", "/modules/shops/rollback", b"", 404),
        ("DELETE", "/modules/shops", b"", 404),
        ("GET", "/modules/shops", b"", 404),
        ("GET", "/nothing", b"", 404),
        ("POST", "/modules", b"", 405),
    ] {
        let reply = server.admin(method, target, body);
        assert_eq!(reply.status, status, "{method} {target}: {reply:?}");
        assert!(!reply.error().1.is_empty(), "{reply:?}");
        assert_eq!(
            (served(&server), digest(&server)),
            (1, first.clone()),
            "{method} {target}"
        );
    }
}

#[test]
fn upload_that_breaks_off_changes_nothing() {
    let folder = configured(SOCKET);
    let server = Server::start(folder.path(), [""; 0]);
    let first = digest(&server);
    let component = version(2);
    let mut stream = UnixStream::connect(folder.path().join("admin.sock")).expect("it listens");
    let head = format!(
        "PUT /modules/shop HTTP/1.1\r\nhost: admin\r\ncontent-length: {}\r\n\r\n",
        component.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(&component[..component.len() - 1]).expect("sent");
    drop(stream);
    // It does not delay later, complete requests.
    assert_eq!(digest(&server), first);
    assert_eq!(server.admin("PUT", "/modules/shop", &version(3)).status, 200);
    assert_eq!(served(&server), 3);
}

#[test]
fn digest_that_the_component_does_not_have_is_refused() {
    let folder = configured(SOCKET);
    let server = Server::start(folder.path(), [""; 0]);
    let put = |digest: &str| -> Reply {
        let stream = UnixStream::connect(folder.path().join("admin.sock")).expect("it listens");
        let headers = format!("host: admin\r\ncontent-digest: sha-256=:{digest}:\r\n");
        request(stream, "PUT", "/modules/shop", &headers, &version(2))
    };
    let other = put("RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=");
    assert_eq!(other.status, 422, "{other:?}");
    assert_eq!(put("AAAA").status, 400);
    assert_eq!(served(&server), 1);
}

#[test]
fn name_that_is_not_text_is_refused_in_the_form_of_every_error() {
    let folder = configured(SOCKET);
    let server = Server::start(folder.path(), [""; 0]);
    for (method, target) in [
        ("GET", "/modules/%ff"),
        ("PUT", "/modules/%ff"),
        ("DELETE", "/modules/%C3%28"),
        ("POST", "/modules/%ff/rollback"),
    ] {
        let (status, message) = server.admin(method, target, b"").error();
        assert_eq!(status, 400, "{method} {target}");
        assert_eq!(
            message,
            format!("the name of a module in `{target}` is not text in UTF-8")
        );
    }
}

#[test]
fn metrics_routes_and_readiness_are_served() {
    let folder = configured(SOCKET);
    let server = Server::start(folder.path(), [""; 0]);
    for _ in 0..3 {
        served(&server);
    }
    assert_eq!(server.admin("GET", "/health", b"").json(), json!({"status": "up"}));
    assert_eq!(
        server.admin("GET", "/ready", b"").json(),
        json!({"ready": true, "held-back": [], "restore-failures": [], "starting": []})
    );
    let routes = server.admin("GET", "/routes", b"").json();
    assert_eq!(routes[0]["path"], "/version");
    let module = server.admin("GET", "/modules", b"").json()[0].clone();
    assert_eq!(
        (&module["name"], &module["form"], &module["state"]),
        (&json!("shop"), &json!("synchronous"), &json!("serving"))
    );
    assert_eq!(module["usage"]["in-flight"], 0);
    assert_eq!(server.admin("PUT", "/modules/shop", b"no component").status, 422);
    // A client may have its reply before the server ends the request and counts the change.
    let figures = || server.admin("GET", "/metrics", b"").body;
    server.until(|| figures().contains("\npointwork_requests_in_flight 0\n"));
    server.until(|| figures().contains("\npointwork_changes_refused_total 1\n"));
    let metrics = server.admin("GET", "/metrics", b"");
    assert_eq!(
        metrics.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    for line in [
        "pointwork_module_calls_total{module=\"shop\"} 6",
        "pointwork_module_crashes_total{module=\"shop\"} 0",
        "pointwork_module_in_flight{module=\"shop\"} 0",
        "pointwork_module_state{module=\"shop\",state=\"serving\"} 1",
        "pointwork_module_state{module=\"shop\",state=\"held-back\"} 0",
    ] {
        assert!(
            metrics.body.lines().any(|found| found == line),
            "{line}\n{}",
            metrics.body
        );
    }
}

#[test]
fn durations_are_measured_by_route_and_go_on_after_a_swap() {
    let folder = configured(SOCKET);
    let server = Server::start(folder.path(), [""; 0]);
    let counts = |method: &str, route: &str, status: &str| {
        let metrics = server.admin("GET", "/metrics", b"").body;
        let labels = format!("{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} ");
        let name = format!("pointwork_request_duration_seconds_count{labels}");
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok());
        count.unwrap_or(0)
    };
    assert_eq!(counts("GET", "/version", "2xx"), 0);
    for _ in 0..3 {
        assert_eq!(server.get("/version").status, 200);
    }
    assert_eq!(server.send("HEAD", "/only/1", None).status, 200);
    for (method, target, status) in [("GET", "/nothing", 404), ("PURGE", "/version", 405)] {
        assert_eq!(server.send(method, target, None).status, status);
    }
    assert_eq!(counts("GET", "/version", "2xx"), 3);
    assert_eq!(counts("GET", "/only/1", "2xx"), 1, "a GET route answers HEAD");
    assert_eq!(counts("ALL", "unmatched", "4xx"), 2);

    assert_eq!(server.admin("PUT", "/modules/shop", &version(2)).status, 200);
    assert_eq!(server.get("/version").status, 200);
    assert_eq!(
        counts("GET", "/version", "2xx"),
        4,
        "a route that stays keeps its counts"
    );
    assert_eq!(counts("GET", "/only/1", "2xx"), 1, "and so does one that is gone");
    assert_eq!(server.admin("POST", "/modules/shop/rollback", b"").status, 200);
    assert_eq!(server.get("/only/1").status, 200);
    assert_eq!(counts("GET", "/only/1", "2xx"), 2, "it goes on when it is back");

    let metrics = server.admin("GET", "/metrics", b"").body;
    for line in [
        "# TYPE pointwork_request_duration_seconds histogram",
        "pointwork_request_duration_seconds_bucket{le=\"+Inf\",method=\"GET\",route=\"/version\",status=\"2xx\"} 4",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
}

#[test]
fn socket_is_its_owners_alone_and_gone_with_the_server() {
    let folder = configured(SOCKET);
    let socket = folder.path().join("admin.sock");
    let server = Server::start(folder.path(), [""; 0]);
    let mode = std::fs::metadata(&socket).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    stderr(run(&folder, "serve --listen 127.0.0.1:0"), 6).says(["is the socket of another process"]);
    let end = server.stop("TERM");
    assert_eq!(end.code, Some(0), "{}", end.errors);
    assert!(!socket.exists());
    // A socket that a killed server left behind is replaced.
    Server::start(folder.path(), [""; 0]).stop("KILL");
    assert!(socket.exists());
    drop(Server::start(folder.path(), [""; 0]));
}

#[test]
fn address_needs_a_token_and_refuses_clients_without_it() {
    let folder = configured("");
    let admin = ["--admin", "127.0.0.1:0"];
    stderr(run(&folder, "serve --listen 127.0.0.1:0").args(admin), 2).says(["has no token"]);
    write(&folder, "short", "secret\n");
    let short = run(&folder, "serve --listen 127.0.0.1:0 --token-file short").args(admin);
    let text = stderr(short, 3);
    assert!(
        text.contains("`short` has no valid token") && !text.contains("secret"),
        "{text}"
    );

    write(&folder, "token", format!("{TOKEN}\n"));
    let server = Server::start(folder.path(), ["--admin", "127.0.0.1:0", "--token-file", "token"]);
    let address = server
        .admin_place()
        .strip_prefix("http://")
        .expect("an address")
        .to_owned();
    let get = |headers: &str| {
        let stream = TcpStream::connect(&address).expect("it listens");
        request(stream, "GET", "/modules", &format!("host: admin\r\n{headers}"), b"")
    };
    for headers in [
        "",
        "authorization: Bearer 4uQ8cVfN1xW7kR2pZ9sT0bY7\r\n",
        "authorization: Basic eDp5\r\n",
    ] {
        let reply = get(headers);
        assert_eq!(
            (reply.status, reply.header("www-authenticate")),
            (401, Some("Bearer")),
            "{headers}"
        );
    }
    assert_eq!(get(&format!("authorization: Bearer {TOKEN}\r\n")).status, 200);

    let modules = || pointwork(&folder).args(["modules", "--admin", &address]);
    let text = stderr(modules(), 1);
    assert_eq!(
        text,
        "error: the token is missing or wrong\nhint: name the file with the token: `--token-file FILE`\n"
    );
    modules().args(["--token-file", "token"]).assert().success();
}

/// A client without the token. It opens another connection whenever the server closes one.
struct Outsider {
    address: String,
    reads: bool,
    stream: Option<TcpStream>,
}

impl Outsider {
    /// Sends a request, and reads what is there of the replies before it.
    fn knock(&mut self) {
        if !self.try_knock().unwrap_or(false) {
            self.stream = None;
        }
    }

    fn try_knock(&mut self) -> std::io::Result<bool> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(&self.address)?;
            stream.set_nonblocking(true)?;
            self.stream = Some(stream);
        }
        let Some(stream) = &mut self.stream else {
            return Ok(false);
        };
        stream.write_all(b"GET /modules HTTP/1.1\r\nhost: admin\r\n\r\n")?;
        match stream.read(&mut [0; 4096]) {
            _ if !self.reads => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(true),
            read => read.map(|length| length > 0),
        }
    }
}

#[test]
fn clients_without_the_token_leave_room_to_those_with_it() {
    let folder = configured("");
    write(&folder, "token", TOKEN);
    let server = Server::start(folder.path(), ["--admin", "127.0.0.1:0", "--token-file", "token"]);
    let address = server.admin_place().trim_start_matches("http://").to_owned();
    let mut outsiders: Vec<_> = (0..70)
        .map(|number| Outsider {
            address: address.clone(),
            reads: number % 2 == 0,
            stream: None,
        })
        .collect();
    for _ in 0..9 {
        outsiders.iter_mut().for_each(Outsider::knock);
        let mut stream = TcpStream::connect(&address).expect("it listens");
        // One more connection comes between this connection and its request.
        outsiders[0].stream = None;
        outsiders[0].knock();
        let headers = format!("host: admin\r\nauthorization: Bearer {TOKEN}\r\n");
        let reply = try_request(&mut stream, "GET", "/modules", &headers, b"").expect("a reply");
        assert_eq!(reply.status, 200);
    }
    let other = TcpStream::connect(&address).expect("it listens");
    let refused = request(
        other,
        "GET",
        "/modules",
        "host: admin\r\nconnection: keep-alive\r\n",
        b"",
    );
    assert_eq!((refused.status, refused.header("connection")), (401, Some("close")));
}

#[test]
fn commands_change_the_modules() {
    let folder = configured(SOCKET);
    write(&folder, "two.wasm", version(2));
    let server = Server::start(folder.path(), [""; 0]);
    let done = |arguments| run(&folder, arguments).assert().success().stderr_eq("");
    done("modules").stdout_eq(str![[r#"
MODULE  STATE    FORM         VERSION       BEFORE  SINCE                 CALLS  CRASHES  EXCEPTIONS  IN FLIGHT
shop    serving  synchronous  [..]  -       [..]Z  0      0        0           0

"#]]);
    done("swap shop two.wasm").stdout_eq(str![[r#"
module `shop` swapped
  version  [..]
  before   [..]
  added    GET /only/2
  removed  GET /only/1
  kept     GET /version

"#]]);
    assert_eq!(served(&server), 2);
    done("rollback shop").stdout_eq(str![[r#"
module `shop` rolled back
  version  [..]
  before   [..]
  added    GET /only/1
  removed  GET /only/2
  kept     GET /version

"#]]);
    assert_eq!(served(&server), 1);
    done("remove shop --admin admin.sock").stdout_eq(str![[r#"
module `shop` removed
  before   [..]
  added    nothing
  removed  GET /version
           GET /only/1
  kept     nothing

"#]]);
    done("modules --json").stdout_eq("[]\n");
    done("swap shop two.wasm").stdout_eq(str![[r#"
module `shop` loaded
  version  [..]
  added    GET /version
           GET /only/2
  removed  nothing
  kept     nothing

"#]]);
    assert_eq!(served(&server), 2);
}

#[test]
fn refusal_is_printed_like_every_error_and_has_its_code() {
    let folder = configured(SOCKET);
    write(&folder, "text.wasm", "buy tea");
    let server = Server::start(folder.path(), [""; 0]);
    refused(run(&folder, "swap shop text.wasm"), 5).stderr_eq(str![[r#"
error: module `shop` is refused
  caused by: not a WebAssembly component: it begins with `buy tea`, expected `/0asm`

"#]]);
    assert_eq!(served(&server), 1);
    let text = stderr(run(&folder, "rollback shop"), 5);
    assert_eq!(text, "error: module `shop` has no previous version to roll back to\n");
    let text = stderr(run(&folder, "remove shops"), 1);
    assert_eq!(text, "error: there is no module `shops`; loaded: `shop`\n");
}

#[test]
fn missing_endpoint_is_named() {
    let empty = folder();
    refused(run(&empty, "modules"), 2)
        .stderr_eq("error: no admin endpoint is named, and `pointwork.toml` does not exist\n[..]\n...\n");
    refused(run(&empty, "modules --admin admin.sock"), 1)
        .stderr_eq("error: cannot reach the admin endpoint at `admin.sock`\n  caused by: [..]\n...\n");
    let folder = configured("");
    refused(run(&folder, "modules"), 3).stderr_eq("error: `pointwork.toml` has no [admin]\n...\n");
    assert!(!Path::new("admin.sock").exists());
}

#[test]
fn endpoint_is_off_by_default() {
    let folder = configured("");
    let server = Server::start(folder.path(), [""; 0]);
    assert!(!server.banner.contains("admin on"), "{}", server.banner);
    stderr(run(&folder, "serve --listen 127.0.0.1:0 --token-file token"), 2)
        .says(["`--token-file` without an admin endpoint"]);
}
