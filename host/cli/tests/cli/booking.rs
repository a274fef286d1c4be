//! The example of the repository, `examples/booking`.

use std::net::TcpStream;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::example::{run_unit_tests, target_dir};
use crate::folder;
use crate::server::{Reply, Server, request};

fn directory() -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/booking");
    directory.canonicalize().expect("it is there")
}

/// A request of the user `ada`, with further headers.
fn send(server: &Server, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let stream = TcpStream::connect(server.address).expect("it listens");
    let mut head = format!("host: {}\r\nauthorization: Bearer tea\r\n", server.address);
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    request(stream, method, target, &head, body.as_bytes())
}

#[test]
fn service_answers_each_kind_of_request() {
    let folder = folder();
    let mut config = std::fs::read_to_string(directory().join("pointwork.toml")).expect("text");
    for package in ["controllers", "channels"] {
        let path = directory().join(package);
        let (relative, absolute) = (
            format!("build = \"{package}\""),
            format!("build = '{}'", path.display()),
        );
        config = config.replace(&relative, &absolute);
    }
    std::fs::write(folder.path().join("pointwork.toml"), config).expect("written");
    std::fs::copy(directory().join("schema.sql"), folder.path().join("schema.sql")).expect("copied");
    let server = Server::start_with(folder.path(), [""; 0], |command| {
        command.env("CARGO_TARGET_DIR", target_dir());
    });

    token_of_a_user_is_required(&server);
    bookings_are_created_checked_and_listed_in_pages(&server);
    picture_is_taken_in_and_sent_once(&server);
    session_is_in_a_signed_cookie(&server);
}

fn token_of_a_user_is_required(server: &Server) {
    let refused = server.get("/bookings");
    let message = "header `authorization`: expected a bearer token";
    assert_eq!(refused.error(), (401, message.to_owned()));
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    assert_eq!(send(server, "GET", "/bookings", &[], "").json(), json!([]));
}

fn bookings_are_created_checked_and_listed_in_pages(server: &Server) {
    let json_type = &[("content-type", "application/json")];
    let form_type = &[("content-type", "application/x-www-form-urlencoded")];
    let created = send(
        server,
        "POST",
        "/bookings",
        json_type,
        r#"{"room": "tower", "nights": 2}"#,
    );
    assert_eq!((created.status, created.header("location")), (201, Some("/bookings/1")));
    assert_eq!(send(server, "GET", "/bookings/1", &[], "").json(), created.json());

    let sent_on = send(server, "POST", "/bookings/form", form_type, "room=attic&nights=3");
    assert_eq!((sent_on.status, sent_on.header("location")), (303, Some("/bookings/2")));

    let refused = send(server, "POST", "/bookings/form", form_type, "room=&nights=99");
    let fields = json!([
        {"field": "nights", "message": "greater than 14"},
        {"field": "room", "message": "length is lower than 1"},
    ]);
    assert_eq!((refused.status, &refused.json()["fields"]), (422, &fields));

    for _ in 3..=11 {
        send(server, "POST", "/bookings/form", form_type, "room=cellar&nights=1");
    }
    assert_eq!(
        send(server, "GET", "/bookings?page=2", &[], "").json(),
        json!([{"id": 11, "room": "cellar", "nights": 1}])
    );
    assert_eq!(send(server, "GET", "/bookings?page=0", &[], "").status, 422);
}

fn picture_is_taken_in_and_sent_once(server: &Server) {
    let upload = |content_type: &str| {
        let head = "content-disposition: form-data; name=\"picture\"; filename=\"tower.png\"";
        let body = format!("--limit\r\n{head}\r\ncontent-type: {content_type}\r\n\r\nPNG\r\n--limit--\r\n");
        let form = ("content-type", "multipart/form-data; boundary=limit");
        send(server, "POST", "/bookings/pictures", &[form], &body)
    };
    assert_eq!(upload("text/html").error(), (415, "expected `image/png`".to_owned()));

    let created = upload("image/png");
    let location = created.header("location").expect("it is created");
    let sent = send(server, "GET", location, &[], "");
    assert_eq!((sent.header("content-type"), &*sent.body), (Some("image/png"), "PNG"));
    let tag = sent.header("etag").expect("it has a tag");
    let known = send(server, "GET", location, &[("if-none-match", tag)], "");
    assert_eq!((known.status, &*known.body), (304, ""));
}

fn session_is_in_a_signed_cookie(server: &Server) {
    let begun = send(server, "POST", "/session", &[], "");
    let (cookie, attributes) = begun
        .header("set-cookie")
        .and_then(|cookie| cookie.split_once("; "))
        .expect("a cookie is set");
    assert_eq!((begun.status, attributes), (204, "HttpOnly"));
    let show = |cookie: &str| send(server, "GET", "/session", &[("cookie", cookie)], "");
    assert_eq!(show(cookie).body, "ada");
    assert_eq!(show(&cookie.replace("ada", "bob")).status, 404);
}

#[test]
fn tests_of_the_packages_pass() {
    run_unit_tests(&directory());
}
