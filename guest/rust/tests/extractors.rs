//! Arguments of handlers that are read from the request, with input that does not fit.

use std::collections::HashMap;

use garde::Validate;
use pointwork_guest::testing::{Answer, TestRequest};
use pointwork_guest::{Bearer, Failure, Form, HeaderMap, Json, JsonOrForm, Params, Path, Query, Valid, controller};
use serde::Deserialize;

const FORM: &str = "application/x-www-form-urlencoded";

#[derive(Debug, Deserialize)]
struct Range {
    first: u32,
    last: u32,
}

#[derive(Debug, Deserialize)]
struct Page {
    page: u32,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Blue,
}

#[derive(Debug, Deserialize)]
struct Tags {
    name: Option<String>,
    #[serde(default)]
    tag: Vec<u32>,
}

struct Read;

#[controller("read")]
impl Read {
    #[get("pair/:first/:last")]
    #[put("pair/:first")]
    #[delete("pair/:first/:last/:more")]
    fn pair(Params((first, last)): Params<(u32, u32)>) -> String {
        format!("{first} to {last}")
    }

    #[get("named/:last/:first")]
    #[put("named/:first")]
    fn named(range: Params<Range>) -> String {
        format!("{} to {}", range.first, range.last)
    }

    #[get(["one/:colour", "one"])]
    fn one(colour: Option<Params<Colour>>) -> String {
        format!("{colour:?}")
    }

    #[get("two/:one/:two")]
    fn two(number: Params<u32>) -> String {
        format!("{number:?}")
    }

    #[get("query")]
    fn query(page: Option<Query<Page>>) -> String {
        format!("{:?}", page.map(|page| page.page))
    }

    #[get(["result/:id", "result"])]
    fn result(page: Result<Query<Page>, Failure>) -> String {
        match page {
            Ok(page) => format!("page {}", page.page),
            Err(failure) => format!("{} {failure}", failure.status()),
        }
    }

    #[get("path/:id")]
    fn path(id: Result<Path<u8>, Failure>) -> String {
        format!("{:?}", id.map_err(|failure| failure.status()))
    }

    #[get("headers")]
    fn headers(headers: HeaderMap) -> String {
        let values = headers.get_all("x-one").iter();
        format!("{:?}", values.map(|value| value.as_bytes()).collect::<Vec<_>>())
    }

    #[post("form")]
    fn form(form: Form<Tags>) -> String {
        format!("{:?} {:?}", form.name, form.tag)
    }

    #[post("either")]
    fn either(either: JsonOrForm<Tags>) -> String {
        format!("{:?} {:?}", either.name, either.tag)
    }

    #[post("optional-either")]
    fn optional_either(either: Option<JsonOrForm<Tags>>) -> String {
        format!("{:?}", either.map(|either| either.0.name))
    }

    #[get("token")]
    fn token(token: Bearer) -> String {
        token.0
    }

    #[get("optional-token")]
    fn optional_token(token: Option<Bearer>) -> String {
        format!("{:?}", token.map(|token| token.0))
    }

    #[post("optional-form")]
    fn optional_form(form: Option<Form<Tags>>) -> String {
        format!("{:?}", form.map(|form| form.0.name))
    }

    #[post("optional-json")]
    fn optional_json(json: Option<Json<u32>>) -> String {
        format!("{json:?}")
    }

    #[post("result-text")]
    fn result_text(text: Result<String, Failure>) -> String {
        format!("{:?}", text.map_err(|failure| failure.code().to_owned()))
    }

    #[post("result-json")]
    fn result_json(json: Result<Json<u32>, Failure>) -> String {
        format!("{:?}", json.map_err(|failure| failure.status()))
    }
}

fn get(path: &str) -> Answer {
    TestRequest::get(path).run::<Read>()
}

fn post(path: &str) -> TestRequest {
    TestRequest::post(path)
}

#[test]
fn a_tuple_takes_parameters_in_order_and_a_struct_by_name() {
    assert_eq!(get("/read/pair/3/7").text(), "3 to 7");
    assert_eq!(get("/read/named/7/3").text(), "3 to 7");
    assert_eq!(get("/read/one/red").text(), "Some(Params(Red))");
    assert_eq!(get("/read/one").text(), "None");
}

#[test]
fn a_parameter_that_does_not_parse_is_400_and_named() {
    let answer = get("/read/pair/3/-1");
    assert_eq!(answer.status(), 400);
    assert_eq!(
        answer.message(),
        Some("path parameter `last`: invalid digit found in string, got `-1`")
    );
    assert_eq!(get("/read/named/99999999999/1").status(), 400);
    let answer = get("/read/one/green");
    let message = "path parameter `colour`: unknown variant `green`, expected `red` or `blue`, got `green`";
    assert_eq!((answer.status(), answer.message()), (400, Some(message)));
}

#[test]
fn a_path_with_other_parameters_than_the_type_is_a_mistake_of_the_module() {
    for (method, path) in [
        ("PUT", "/read/pair/3"),
        ("DELETE", "/read/pair/3/7/9"),
        ("PUT", "/read/named/3"),
        ("GET", "/read/two/1/2"),
    ] {
        let answer = TestRequest::new(method, path).run::<Read>();
        let message = "the server could not read the path";
        assert_eq!(
            (answer.status(), answer.message()),
            (500, Some(message)),
            "{method} {path}"
        );
    }
}

#[test]
fn what_is_absent_is_none_and_what_is_malformed_an_error() {
    assert_eq!(get("/read/query").text(), "None");
    assert_eq!(get("/read/query?page=2").text(), "Some(2)");
    assert_eq!(get("/read/query?page=x").status(), 400);
    assert_eq!(get("/read/query?").status(), 400);
    assert_eq!(post("/read/optional-form").run::<Read>().text(), "None");
    assert_eq!(
        post("/read/optional-form")
            .form(&[("name", "tea")])
            .run::<Read>()
            .text(),
        "Some(Some(\"tea\"))"
    );
    assert_eq!(
        post("/read/optional-form").form(&[("tag", "x")]).run::<Read>().status(),
        400
    );
    assert_eq!(post("/read/optional-json").run::<Read>().text(), "None");
    assert_eq!(
        post("/read/optional-json").json(&7).run::<Read>().text(),
        "Some(Json(7))"
    );
    let empty = post("/read/optional-json").header("content-type", "application/json");
    assert_eq!(empty.run::<Read>().status(), 400);
}

#[test]
fn a_handler_that_takes_a_result_gets_the_failure() {
    assert_eq!(get("/read/result?page=3").text(), "page 3");
    let text = get("/read/result/7?page=x").text();
    assert_eq!(text, "400 query: `page`: invalid digit found in string");
    assert_eq!(get("/read/path/7").text(), "Ok(Path(7))");
    assert_eq!(get("/read/path/300").text(), "Err(400)");
    let request = post("/read/result-text").body([0xfc]);
    assert_eq!(request.run::<Read>().text(), "Err(\"bad-payload\")");
    let request = post("/read/result-json").header("content-type", "text/plain");
    assert_eq!(request.body("7").run::<Read>().text(), "Err(415)");
}

#[test]
fn a_form_is_read_by_its_names() {
    let request = post("/read/form").form(&[("tag", "1"), ("name", "green tea & milk"), ("tag", "2")]);
    assert_eq!(request.run::<Read>().text(), "Some(\"green tea & milk\") [1, 2]");
    let request = post("/read/form").body("name=%ef%bf%bd+%");
    assert_eq!(request.run::<Read>().text(), "Some(\"\u{fffd} %\") []");
    let request = post("/read/form").form(&[("name", "tea"), ("name", "milk")]);
    assert_eq!(request.run::<Read>().status(), 400);
}

#[test]
fn a_field_that_is_not_utf8_is_400_and_named() {
    for (body, name) in [
        (&b"name=%ff"[..], "name"),
        (b"tag=1&name=a%C3&tag=2", "name"),
        (b"name=tea&other=%C0%AF", "other"),
        (b"name=\xe4", "name"),
        (b"n%ffme=tea", "n\u{fffd}me"),
        (b"%e4", "\u{fffd}"),
    ] {
        let answer = post("/read/form").body(body).run::<Read>();
        let message = format!("body: `{name}`: expected UTF-8");
        assert_eq!((answer.status(), answer.message()), (400, Some(message.as_str())));
    }
    for text in ["page=1&other=%ff", "page=%ff", "page=%"] {
        assert_eq!(get(&format!("/read/query?{text}")).status(), 400, "{text}");
    }
    let answer = get("/read/query?page=%fc");
    assert_eq!(answer.message(), Some("query: `page`: expected UTF-8"));
    let answer = TestRequest::get("/?page=%fc").run_with(|ctx| ctx.query());
    assert_eq!(answer.text(), "page=%fc");
}

#[test]
fn a_form_of_another_content_type_is_415() {
    let answer = post("/read/form").json(&7).run::<Read>();
    let message = "body: expected `content-type: application/x-www-form-urlencoded`, got `application/json`";
    assert_eq!((answer.status(), answer.message()), (415, Some(message)));
    let request = post("/read/form").header("content-type", "Application/X-WWW-Form-urlencoded; charset=utf-8");
    assert_eq!(request.body("name=tea").run::<Read>().text(), "Some(\"tea\") []");
}

#[test]
fn a_body_is_read_as_json_or_a_form_by_its_content_type() {
    let tags = [("name", "tea")];
    let request = post("/read/either").form(&tags);
    assert_eq!(request.run::<Read>().text(), "Some(\"tea\") []");
    for content_type in ["application/json", "Application/Tea+JSON; a=b"] {
        let request = post("/read/either").header("content-type", content_type);
        assert_eq!(request.body(r#"{"tag": [1]}"#).run::<Read>().text(), "None [1]");
    }
    let request = post("/read/either").body(r#"{"tag": [1]}"#);
    assert_eq!(request.run::<Read>().text(), "None [1]", "without a type");
    for (content_type, body, status, message) in [
        (
            "text/plain",
            "{}",
            415,
            "body: expected `content-type: application/json` or `application/x-www-form-urlencoded`, got `text/plain`",
        ),
        (
            "application/json",
            "name=tea",
            400,
            "body: expected ident at line 1 column 2",
        ),
        (FORM, "name=%ff", 400, "body: `name`: expected UTF-8"),
    ] {
        let request = post("/read/either").header("content-type", content_type).body(body);
        let answer = request.run::<Read>();
        assert_eq!((answer.status(), answer.message()), (status, Some(message)));
    }
    assert_eq!(post("/read/optional-either").run::<Read>().text(), "None");
    let request = post("/read/optional-either").form(&tags);
    assert_eq!(request.run::<Read>().text(), "Some(Some(\"tea\"))");
}

#[test]
fn a_request_without_a_bearer_token_is_401() {
    let get = |path: &str, header: &str| {
        let request = TestRequest::get(path).header("authorization", header);
        request.run::<Read>()
    };
    assert_eq!(get("/read/token", "Bearer aZ09-._~+/==").text(), "aZ09-._~+/==");
    for header in ["Bearer a.b", "bearer  a.b "] {
        assert_eq!(get("/read/token", header).text(), "a.b");
        assert_eq!(get("/read/optional-token", header).text(), "Some(\"a.b\")");
    }
    let is_refused = |answer: Answer| {
        let message = "header `authorization`: expected a bearer token";
        assert_eq!((answer.status(), answer.message()), (401, Some(message)));
        assert_eq!(answer.header("www-authenticate").as_deref(), Some("Bearer"));
    };
    for header in ["Basic YTpi", "Bearera.b", ""] {
        is_refused(get("/read/token", header));
        assert_eq!(get("/read/optional-token", header).text(), "None");
    }
    for header in [
        "Bearer",
        "Bearer  ",
        "Bearer a b",
        "Bearer a, Bearer b",
        "Bearer a,b",
        "Bearer é",
        "Bearer =",
        "Bearer a=b",
        "Bearer a\tb",
    ] {
        is_refused(get("/read/token", header));
        is_refused(get("/read/optional-token", header));
    }
    for other in ["Bearer a.b", "Basic YTpi"] {
        for path in ["/read/token", "/read/optional-token"] {
            let request = TestRequest::get(path).header("authorization", other);
            is_refused(request.header("authorization", "Bearer a.b").run::<Read>());
        }
    }
    is_refused(TestRequest::get("/read/token").run::<Read>());
    assert_eq!(TestRequest::get("/read/optional-token").run::<Read>().text(), "None");
    let failure = Bearer::refused("too old");
    let challenge = (
        "www-authenticate".to_owned(),
        br#"Bearer error="invalid_token""#.to_vec(),
    );
    assert_eq!((failure.status(), failure.headers()), (401, &[challenge][..]));
    assert_eq!(format!("{:?}", Bearer("secret".into())), "Bearer");
}

#[test]
fn a_form_of_ten_thousand_keys_is_read() {
    let mut keys: Vec<_> = (0..10_000)
        .map(|number| (format!("key{number}"), number.to_string()))
        .collect();
    keys.push(("name".into(), "tea".into()));
    assert_eq!(post("/read/form").form(&keys).run::<Read>().text(), "Some(\"tea\") []");
    let same: Vec<_> = (0..10_000).map(|number| ("tag", number)).collect();
    let text = post("/read/form").form(&same).run::<Read>().text();
    assert!(text.ends_with(" 9998, 9999]"), "{text:.100}");
}

#[test]
fn a_form_or_query_of_too_many_fields_is_413() {
    let text = |count| vec!["tag=1"; count].join("&");
    assert_eq!(post("/read/form").body(text(100_000)).run::<Read>().status(), 200);
    for count in [100_001, 1_000_000] {
        let answer = post("/read/form").body(text(count)).run::<Read>();
        let message = "body: there are too many fields, expected 100000 at most";
        assert_eq!((answer.status(), answer.message()), (413, Some(message)));
    }
    assert_eq!(get(&format!("/read/query?{}", "a&".repeat(100_000))).status(), 413);
}

#[test]
fn any_number_of_headers_is_read_or_refused() {
    let request = (0..40_000).fold(TestRequest::get("/read/headers"), |request, number| {
        request.header(&format!("x-{number}"), "a")
    });
    assert_eq!(request.run::<Read>().status(), 431);
    let request = (0..40_000).fold(TestRequest::get("/read/headers"), |request, _| {
        request.header("x-two", "a")
    });
    assert_eq!(request.run::<Read>().status(), 200);
}

/// Names of fields that are not valid, each with its message.
#[derive(Deserialize)]
struct Wrong(Vec<(String, String)>);

impl Validate for Wrong {
    type Context = ();

    fn validate_into(&self, _context: &(), parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        for (name, message) in &self.0 {
            report.append(parent().join(name.as_str()), garde::Error::new(message));
        }
    }
}

struct Checked;

#[controller("checked")]
impl Checked {
    #[post]
    fn all(_wrong: Valid<Json<Wrong>>) -> &'static str {
        "valid"
    }
}

/// The message of the refusal, and the fields with their messages.
fn refused(wrong: &[(String, String)]) -> (String, Vec<(String, String)>) {
    #[derive(Deserialize)]
    struct Refusal {
        message: String,
        fields: Vec<HashMap<String, String>>,
    }

    let answer = TestRequest::post("/checked").json(wrong).run::<Checked>();
    assert_eq!(answer.status(), 422);
    let refusal: Refusal = answer.json();
    let fields = refusal.fields.iter();
    let fields = fields.map(|field| (field["field"].clone(), field["message"].clone()));
    (refusal.message, fields.collect())
}

#[test]
fn the_list_of_fields_that_are_not_valid_is_bounded() {
    let none: [(String, String); 0] = [];
    assert_eq!(
        TestRequest::post("/checked").json(&none).run::<Checked>().text(),
        "valid"
    );
    let wrong = |count: usize| (0..count).map(|number| (format!("f{number:02}"), "wrong".to_owned()));
    for count in [1, 49, 50, 51, 10_000] {
        let all: Vec<_> = wrong(count).collect();
        let (message, fields) = refused(&all);
        let expected = if count == 1 {
            "1 field is not valid".to_owned()
        } else {
            format!("{count} fields are not valid")
        };
        assert_eq!(message, expected);
        // The first ones, in the order of the validation.
        assert_eq!(fields, all[..count.min(50)]);
    }
}

#[test]
fn the_texts_of_a_field_that_is_not_valid_are_cut_at_a_character() {
    for (text, kept) in [
        ("x".repeat(199), 199),
        ("x".repeat(200), 200),
        ("x".repeat(201), 200),
        ("ä".repeat(100), 200),
        (format!("x{}", "ä".repeat(100)), 199),
        (format!("{}\u{1f600}", "x".repeat(196)), 200),
        (format!("{}\u{1f600}", "x".repeat(199)), 199),
    ] {
        let cut = &text[..kept];
        let (_, fields) = refused(&[(text.clone(), text.clone())]);
        assert_eq!(fields, [(cut.to_owned(), cut.to_owned())]);
    }
}

#[test]
fn the_longest_list_of_fields_that_are_not_valid_is_a_reply() {
    // JSON writes six bytes for each of these.
    let text = "\u{1}".repeat(300);
    let (_, fields) = refused(&vec![(text.clone(), text); 60]);
    assert_eq!(fields.len(), 50);
    let cut = "\u{fffd}".repeat(200);
    assert_eq!(fields[0], (cut.clone(), cut));
}

#[test]
fn all_headers_are_there_with_their_bytes() {
    let request = TestRequest::get("/read/headers")
        .header("X-One", "1")
        .header("x-one", [0xfc]);
    assert_eq!(request.run::<Read>().text(), "[[49], [252]]");
}

#[test]
fn cookies_of_a_test_are_one_header() {
    let request = TestRequest::get("/").cookie("a", "1").cookie("b", "2");
    assert_eq!(request.run_with(|ctx| ctx.header("cookie")).text(), "a=1; b=2");
}
