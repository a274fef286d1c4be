//! What hostile input costs: the memory that its reading allocates grows with its length, and no faster.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::HashMap;

use garde::Validate;
use pointwork_guest::testing::{Answer, TestRequest};
use pointwork_guest::{
    Conditions, Cookies, ETag, Failure, Form, HeaderMap, Json, JsonOrForm, Multipart, Query, Valid, controller,
};
use serde::Deserialize;
use serde_json::Value;

/// Counts the bytes that a thread allocates.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: The system's allocator does the work, and the counter allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size());
        // SAFETY: The caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: The caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

type Lists = HashMap<String, Vec<String>>;

#[derive(Deserialize, Validate)]
struct Night {
    #[garde(range(max = 14))]
    nights: u32,
}

struct Read;

#[controller("read")]
impl Read {
    #[get("query")]
    fn query(query: Query<Lists>) -> String {
        query.len().to_string()
    }

    #[post("form")]
    fn form(form: Form<Vec<(String, String)>>) -> String {
        form.len().to_string()
    }

    #[post("either")]
    fn either(form: JsonOrForm<Lists>) -> String {
        form.len().to_string()
    }

    #[post("parts")]
    fn parts(mut form: Multipart) -> Result<String, Failure> {
        let mut bytes = 0;
        while let Some(part) = form.next_part()? {
            bytes += part.bytes(usize::MAX)?.len();
        }
        Ok(bytes.to_string())
    }

    #[get("cookies")]
    fn cookies(cookies: Cookies) -> String {
        cookies.iter().count().to_string()
    }

    #[get("headers")]
    fn headers(headers: HeaderMap) -> String {
        headers.len().to_string()
    }

    #[get("conditions")]
    fn conditions(conditions: Conditions) -> String {
        conditions.require(&ETag::strong("none")).is_ok().to_string()
    }

    #[post("json")]
    fn json(json: Json<Value>) -> String {
        json.is_object().to_string()
    }

    #[post("typed")]
    fn typed(list: Json<Vec<u32>>) -> String {
        list.len().to_string()
    }

    #[post("valid")]
    fn valid(list: Valid<Json<Vec<Night>>>) -> String {
        list.iter().map(|night| night.nights).sum::<u32>().to_string()
    }
}

/// Makes a request of about this many bytes.
type Make = fn(usize) -> TestRequest;

const FORM: &str = "application/x-www-form-urlencoded";

fn numbered(size: usize, item: impl Fn(usize) -> String, between: &str) -> String {
    let length = item(size).len() + between.len();
    (0..size / length).map(item).collect::<Vec<_>>().join(between)
}

fn repeated(size: usize, item: &str) -> String {
    item.repeat(size / item.len())
}

fn json(path: &str, text: String) -> TestRequest {
    TestRequest::post(path)
        .header("content-type", "application/json")
        .body(text)
}

fn form(path: &str, text: String) -> TestRequest {
    TestRequest::post(path).header("content-type", FORM).body(text)
}

fn parts(content: &str, size: usize) -> TestRequest {
    let part = format!("--b\r\ncontent-disposition: form-data; name=\"n\"\r\n\r\n{content}\r\n");
    let body = repeated(size, &part) + "--b--";
    TestRequest::post("/read/parts")
        .header("content-type", "multipart/form-data; boundary=b")
        .body(body)
}

/// Each reader with the input that could cost it most.
const READERS: &[(&str, Make)] = &[
    ("one name in a query", |size| {
        TestRequest::get(&format!("/read/query?{}", repeated(size, "a&")))
    }),
    ("many names in a query", |size| {
        TestRequest::get(&format!(
            "/read/query?{}",
            numbered(size, |number| format!("a{number:06}"), "&")
        ))
    }),
    ("escapes in a query", |size| {
        TestRequest::get(&format!("/read/query?a={}", repeated(size, "%C3%A4")))
    }),
    ("one name in a form", |size| form("/read/form", repeated(size, "a&"))),
    ("many names in a form", |size| {
        form("/read/either", numbered(size, |number| format!("a{number:06}=b"), "&"))
    }),
    ("small parts", |size| parts("", size.min(60_000))),
    ("large parts", |size| parts(&"v".repeat(2_000), size)),
    ("a part of line breaks", |size| {
        parts(&repeated(size - 100, "\r\n--"), size)
    }),
    ("cookies", |size| {
        TestRequest::get("/read/cookies").header("cookie", numbered(size, |number| format!("a{number:06}=b"), "; "))
    }),
    ("cookies of one name", |size| {
        TestRequest::get("/read/cookies").header("cookie", repeated(size, "a=b;"))
    }),
    ("headers of one name", |size| {
        (0..size / 40).fold(TestRequest::get("/read/headers"), |request, _| {
            request.header("x-name", "value")
        })
    }),
    ("tags", |size| {
        TestRequest::get("/read/conditions").header("if-match", repeated(size, "\"a\","))
    }),
    ("commas in a list of tags", |size| {
        TestRequest::get("/read/conditions").header("if-match", repeated(size, ",") + "\"a\"")
    }),
    ("empty arrays", |size| {
        json("/read/json", format!("[{}]", numbered(size, |_| "[]".into(), ",")))
    }),
    ("keys of a map", |size| {
        json(
            "/read/json",
            format!("{{{}}}", numbered(size, |number| format!("\"{number:06}\":0"), ",")),
        )
    }),
    ("keys of constructors", |size| {
        json(
            "/read/json",
            format!("[{}]", numbered(size, |_| r#"{"constructor":{}}"#.into(), ",")),
        )
    }),
    ("escapes in JSON", |size| {
        json("/read/json", format!("\"{}\"", repeated(size, "\\ud83d\\ude00")))
    }),
    ("deep JSON", |size| {
        json("/read/json", repeated(size, "{\"constructor\":"))
    }),
    ("a number too many", |size| {
        json("/read/typed", format!("[{},-1]", numbered(size, |_| "1".into(), ",")))
    }),
    ("wrong items", |size| {
        json("/read/typed", format!("[{}]", numbered(size, |_| "-1".into(), ",")))
    }),
    ("items that are not valid", |size| {
        json(
            "/read/valid",
            format!("[{}]", numbered(size, |_| r#"{"nights":99}"#.into(), ",")),
        )
    }),
];

/// The bytes that a request allocates, without those of its making.
fn cost(make: Make, size: usize) -> (usize, Answer) {
    let request = make(size);
    let before = ALLOCATED.get();
    let answer = request.run::<Read>();
    (ALLOCATED.get() - before, answer)
}

#[test]
fn the_memory_that_reading_allocates_doubles_if_the_input_doubles() {
    for (name, make) in READERS {
        let (once, _) = cost(*make, 30_000);
        let (twice, answer) = cost(*make, 60_000);
        assert!(
            once * 11 / 5 + 4_000 >= twice,
            "{name}: {once}, then {twice} bytes, {answer:?}"
        );
    }
}

#[test]
fn an_item_that_is_not_valid_is_one_of_fifty() {
    for (count, told) in [(49, 49), (50, 50), (51, 50), (5_000, 50)] {
        let list: Vec<_> = (0..count).map(|_| serde_json::json!({ "nights": 99 })).collect();
        let answer = TestRequest::post("/read/valid").json(&list).run::<Read>();
        assert_eq!(answer.status(), 422);
        let fields = answer.json::<Value>();
        assert_eq!(fields["fields"].as_array().map(Vec::len), Some(told), "{count}");
    }
}
