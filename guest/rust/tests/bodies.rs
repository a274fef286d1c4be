//! Bodies of several parts, and bodies that are written in pieces.

use futures_util::stream;
use pointwork_guest::testing::{Answer, TestRequest};
use pointwork_guest::{
    AsyncMultipart, Context, Failure, HttpStatus, Multipart, Path, Pieces, Reply, Sse, SseEvent, Streamed, controller,
};

struct Files;

#[controller]
impl Files {
    #[post("files")]
    fn upload(mut form: Multipart) -> Result<String, Failure> {
        let mut told = Vec::new();
        while let Some(mut part) = form.next_part()? {
            let head = format!("{:?} {:?} {:?}", part.name(), part.file_name(), part.content_type());
            let (mut bytes, mut chunks) = (0, 0);
            while let Some(chunk) = part.read()? {
                (bytes, chunks) = (bytes + chunk.len(), chunks + 1);
            }
            told.push(format!(
                "{head} {bytes} bytes in {} chunk(s)",
                if chunks > 1 { "many" } else { "one" }
            ));
        }
        Ok(told.join("\n"))
    }

    #[post("count")]
    fn count(mut form: Multipart) -> Result<String, Failure> {
        let mut parts = 0;
        while form.next_part()?.is_some() {
            parts += 1;
        }
        Ok(parts.to_string())
    }

    #[post("small")]
    fn small(mut form: Multipart) -> Result<String, Failure> {
        match form.next_part()? {
            Some(part) => part.text(8),
            None => Ok("no part".into()),
        }
    }

    #[post("optional")]
    fn optional(form: Option<Multipart>) -> String {
        form.is_some().to_string()
    }

    #[post("result")]
    fn result(form: Result<Multipart, Failure>) -> String {
        format!("{:?}", form.map_err(|failure| failure.status()).map(|_| ()))
    }
}

struct AsyncFiles;

#[controller]
impl AsyncFiles {
    #[post("count")]
    async fn count(mut form: AsyncMultipart) -> Result<String, Failure> {
        let mut bytes = Vec::new();
        while let Some(part) = form.next_part().await? {
            bytes.push(part.bytes(usize::MAX).await?.len());
        }
        Ok(format!("{bytes:?}"))
    }

    #[get("endless/:piece")]
    async fn endless(piece: Path<String>) -> Streamed<impl Pieces> {
        Reply::new(200_u16).stream(stream::repeat(piece_of(&piece)))
    }

    #[get("events")]
    async fn events() -> Streamed<impl Pieces> {
        Sse::stream(stream::iter([
            SseEvent::data("one\r\ntwo\n"),
            SseEvent::comment("end").id("7"),
        ]))
    }
}

fn post(path: &str) -> TestRequest {
    TestRequest::post(path)
}

/// A body with this boundary.
fn raw(path: &str, body: impl Into<Vec<u8>>) -> Answer {
    let request = post(path).header("content-type", "multipart/form-data; boundary=b");
    request.body(body).run::<Files>()
}

#[test]
fn parts_are_read_in_chunks_one_after_the_other() {
    let request = post("/files")
        .part("title", "green tea")
        .file("image", "tea.png", "image/png", vec![b'x'; 100_000]);
    let expected = "\"title\" None None 9 bytes in one chunk(s)\n\
                    \"image\" Some(\"tea.png\") Some(\"image/png\") 100000 bytes in many chunk(s)";
    assert_eq!(
        request
            .part("empty", "")
            .run::<Files>()
            .text()
            .lines()
            .take(2)
            .collect::<Vec<_>>()
            .join("\n"),
        expected
    );
    let request = post("/count")
        .part("a", "1")
        .file("b", "b", "text/plain", vec![b'\r'; 40_000]);
    assert_eq!(request.run::<AsyncFiles>().text(), "[1, 40000]");
}

#[test]
fn a_part_that_is_not_read_is_skipped() {
    let request = post("/count")
        .file("one", "one", "text/plain", vec![b'-'; 300_000])
        .part("two", "2");
    assert_eq!(request.run::<Files>().text(), "2");
}

#[test]
fn a_body_has_a_thousand_parts_at_most() {
    let part = "--b\r\ncontent-disposition: form-data; name=\"n\"\r\n\r\nv\r\n";
    assert_eq!(raw("/count", part.repeat(1_000) + "--b--").text(), "1000");
    for count in [1_001, 30_000] {
        let answer = raw("/count", part.repeat(count) + "--b--");
        let message = "body: there are too many parts, expected 1000 at most";
        assert_eq!((answer.status(), answer.message()), (413, Some(message)), "{count}");
    }
}

#[test]
fn a_part_that_is_named_after_a_prototype_is_400() {
    let answer = raw(
        "/count",
        with_head(b"\r\ncontent-disposition: form-data; name=\"__proto__\"\r\n\r\n"),
    );
    let message = "body: the name `__proto__` is not allowed";
    assert_eq!((answer.status(), answer.message()), (400, Some(message)));
}

#[test]
fn the_text_of_a_part_is_utf8_without_a_byte_order_mark() {
    assert_eq!(post("/small").part("a", "\u{feff}tea").run::<Files>().text(), "tea");
    let answer = post("/small")
        .file("a", "a.txt", "text/plain; charset=utf-16", "tea")
        .run::<Files>();
    let message = "body: part `a`: expected the charset `utf-8`, got `utf-16`";
    assert_eq!((answer.status(), answer.message()), (415, Some(message)));
}

#[test]
fn a_body_without_a_boundary_is_400_and_another_type_415() {
    for (content_type, status) in [
        ("multipart/form-data", 400),
        ("multipart/form-data; boundary=", 400),
        ("multipart/form-data; boundary=\"\"", 400),
        ("multipart/mixed; boundary=b", 415),
        ("application/json", 415),
        ("nonsense", 415),
    ] {
        let answer = post("/count")
            .header("content-type", content_type)
            .body("--b--")
            .run::<Files>();
        assert_eq!(answer.status(), status, "{content_type}");
    }
    assert_eq!(post("/count").body("--b--").run::<Files>().status(), 415);
}

#[test]
fn a_body_that_is_cut_off_is_400_wherever_it_ends() {
    let whole = "--b\r\ncontent-disposition: form-data; name=\"n\"\r\n\r\nvalue\r\n--b--";
    assert_eq!(raw("/count", whole).text(), "1");
    for end in 0..whole.len() {
        let answer = raw("/count", &whole.as_bytes()[..end]);
        assert_eq!(answer.status(), 400, "{end}: {:?}", answer.message());
    }
}

/// A part with this head, and one that is as it should be.
fn with_head(head: &[u8]) -> Vec<u8> {
    let other = b"value\r\n--b\r\ncontent-disposition: form-data; name=\"n\"\r\n\r\nother\r\n--b--";
    [b"--b", head, other].concat()
}

#[test]
fn a_part_without_a_name_in_utf8_is_400() {
    let no_header = "has no header `content-disposition`";
    let not_utf8 = "has a header `content-disposition` that is not UTF-8";
    for (head, problem) in [
        (&b"\r\n\r\n"[..], no_header),
        (b"\r\nx-part: a\r\n\r\n", no_header),
        (b"\r\ncontent-disposition: form-data\r\n\r\n", "has no name"),
        (b"\r\ncontent-disposition: form-data; name=\"a\r\n\r\n", "has no name"),
        (b"\r\ncontent-disposition: form-data; name=\"\xe4\"\r\n\r\n", not_utf8),
        (
            b"\r\ncontent-disposition: form-data; name=\"a\"; filename=\"\xe4\"\r\n\r\n",
            not_utf8,
        ),
    ] {
        let answer = raw("/count", with_head(head));
        let message = format!("body: a part {problem}, expected `content-disposition: form-data; name=\"…\"` in UTF-8");
        assert_eq!((answer.status(), answer.message()), (400, Some(message.as_str())));
    }
    assert_eq!(raw("/count", "--b\r\n\r\nvalue\r\n--b--").status(), 400);
}

#[test]
fn spaces_after_a_boundary_are_padding() {
    let body = with_head(b" \t \r\ncontent-disposition: form-data; name=\"a\"\r\n\r\n");
    assert_eq!(raw("/count", [&body[..], b" \t\r\nepilogue"].concat()).text(), "2");
    // The padding of the first boundary goes on in the next chunk.
    let body = with_head(
        &[
            " ".repeat(20_000).as_bytes(),
            b"\r\ncontent-disposition: form-data; name=a\r\n\r\n",
        ]
        .concat(),
    );
    assert_eq!(raw("/count", body).text(), "2");
}

#[test]
fn a_head_without_an_end_is_400() {
    let head = format!("--b\r\nx: {}", "a".repeat(200_000));
    let answer = raw("/count", head);
    let message = "body: a part has no end of its head within 65536 bytes";
    assert_eq!((answer.status(), answer.message()), (400, Some(message)));
    assert_eq!(raw("/count", "a".repeat(200_000)).status(), 400);
}

#[test]
fn a_part_over_the_limit_is_413_and_one_that_is_no_text_400() {
    assert_eq!(post("/small").part("a", "12345678").run::<Files>().text(), "12345678");
    let answer = post("/small").part("a", "123456789").run::<Files>();
    let message = "body: part `a` is too large, expected 8 bytes at most";
    assert_eq!((answer.status(), answer.message()), (413, Some(message)));
    assert_eq!(post("/small").part("a", [0xfc]).run::<Files>().status(), 400);
}

#[test]
fn a_body_that_is_absent_is_none_and_a_malformed_one_an_error() {
    assert_eq!(post("/optional").run::<Files>().text(), "false");
    assert_eq!(post("/optional").part("a", "1").run::<Files>().text(), "true");
    assert_eq!(post("/optional").json(&1).run::<Files>().status(), 415);
    assert_eq!(post("/result").json(&1).run::<Files>().text(), "Err(415)");
}

struct Written;

fn piece_of(name: &str) -> &'static str {
    if name == "empty" { "" } else { "text" }
}

#[controller]
impl Written {
    #[get("rows/:count")]
    fn rows(ctx: &Context) -> Result<Streamed<impl Pieces>, Failure> {
        let count: usize = ctx
            .param("count")
            .and_then(|count| count.parse().ok())
            .ok_or(HttpStatus::NOT_FOUND)?;
        let reply = Reply::new(HttpStatus::ACCEPTED).header("content-type", "text/csv");
        Ok(reply.iter((0..count).map(move |row| format!("{row},{}\n", ctx.method()))))
    }

    #[get("broken")]
    fn broken() -> Streamed<impl Pieces> {
        let pieces = [Ok("one"), Err(Failure::new(409_u16, "no more")), Ok("three")];
        Reply::new(200_u16).iter(pieces)
    }

    #[get("wrong")]
    fn wrong() -> Streamed<impl Pieces> {
        Reply::new(200_u16).header("x-to", "a\nb").iter(["one"])
    }

    #[get("endless/:piece")]
    fn endless(piece: Path<String>) -> Streamed<impl Pieces> {
        Reply::new(200_u16).iter(std::iter::repeat(piece_of(&piece)))
    }

    #[get("line-break")]
    fn line_break() -> Streamed<impl Pieces> {
        Sse::iter([SseEvent::data("text").event("a\nb").id("7")])
    }
}

#[test]
fn the_pieces_of_an_iterator_are_the_body() {
    let answer = TestRequest::get("/rows/2").run::<Written>();
    assert_eq!((answer.status(), answer.text().as_str()), (202, "0,GET\n1,GET\n"));
    assert_eq!((answer.is_finished(), answer.replied_twice()), (true, false));
    assert_eq!(answer.header("content-type").as_deref(), Some("text/csv"));
    assert_eq!(TestRequest::get("/rows/x").run::<Written>().status(), 404);
}

#[test]
fn a_piece_that_is_an_error_breaks_the_reply_off() {
    let answer = TestRequest::get("/broken").run::<Written>();
    assert_eq!((answer.status(), answer.text().as_str()), (200, "one"));
    assert_eq!((answer.is_finished(), answer.failure()), (false, None));
}

#[test]
fn pieces_without_end_are_dropped_when_the_client_has_left() {
    for piece in ["empty", "text"] {
        let request = || TestRequest::get(&format!("/endless/{piece}")).cancelled();
        for answer in [request().run::<Written>(), request().run::<AsyncFiles>()] {
            assert_eq!((answer.status(), answer.is_finished()), (200, false), "{piece}");
            assert_eq!((answer.text().as_str(), answer.failure()), ("", None), "{piece}");
        }
    }
}

#[test]
fn a_wrong_head_is_an_error_before_anything_is_written() {
    let answer = TestRequest::get("/wrong").run::<Written>();
    assert_eq!(
        (answer.status(), answer.failure().map(Failure::code)),
        (500, Some("invalid-reply"))
    );
}

#[test]
fn events_of_a_server_cannot_be_forged_by_their_text() {
    let answer = TestRequest::get("/line-break").run::<Written>();
    assert_eq!(answer.text(), "id: 7\ndata: text\n\n");
    let answer = TestRequest::get("/events").run::<AsyncFiles>();
    assert_eq!(answer.text(), "data: one\ndata: two\ndata: \n\nid: 7\n: end\n\n");
    assert_eq!(answer.header("content-type").as_deref(), Some("text/event-stream"));
}
