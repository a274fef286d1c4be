//! The variables of a module (spec H10), read by type in tests without a host.

use pointwork_guest::testing::{TestEvent, TestRequest};
use pointwork_guest::{AsyncContext, Context, Delivery, Failure, Variable, Variables, channel, controller, events};

events! {
    Ask = "db:ask": () => u32;
}

#[derive(Debug, PartialEq)]
enum Currency {
    Euro,
}

impl Variable for Currency {
    const EXPECTED: &'static str = "`EUR`";

    fn from_text(text: &str) -> Option<Self> {
        (text == "EUR").then_some(Self::Euro)
    }
}

/// All kinds of fields.
#[derive(Debug, PartialEq, Variables)]
struct Settings {
    token: String,
    #[variable(default = 20)]
    page_size: u32,
    #[variable(default = "none")]
    banner: String,
    #[variable(name = "shop.rate", default)]
    rate: f64,
    r#type: Option<char>,
    currency: Option<Currency>,
    #[variable(default)]
    open: bool,
}

fn read(variables: &[(&str, &str)]) -> Result<Settings, Failure> {
    let mut read = None;
    let request = TestRequest::get("/");
    let request = variables
        .iter()
        .fold(request, |request, (name, value)| request.variable(name, value));
    request.run_with(|_| read = Some(Settings::read()));
    read.expect("the function ran")
}

#[test]
fn variables_are_read_into_the_types_of_the_fields() {
    let all = [
        ("TOKEN", "sesame"),
        ("PAGE_SIZE", "50"),
        ("BANNER", ""),
        ("shop.rate", "1.5"),
        ("TYPE", "ä"),
        ("CURRENCY", "EUR"),
        ("OPEN", "true"),
        ("OTHER", "x"),
    ];
    let expected = Settings {
        token: "sesame".into(),
        page_size: 50,
        banner: String::new(),
        rate: 1.5,
        r#type: Some('ä'),
        currency: Some(Currency::Euro),
        open: true,
    };
    assert_eq!(read(&all), Ok(expected));
    let usual = Settings {
        token: String::new(),
        page_size: 20,
        banner: "none".into(),
        rate: 0.0,
        r#type: None,
        currency: None,
        open: false,
    };
    assert_eq!(read(&[("TOKEN", "")]), Ok(usual));
}

#[test]
fn what_is_missing_or_does_not_fit_is_named_and_not_shown() {
    for (name, value, problem) in [
        ("OTHER", "sesame", "`TOKEN` is missing: expected a text"),
        (
            "PAGE_SIZE",
            "sesame",
            "`PAGE_SIZE` does not fit: expected a whole number from 0 to 4294967295",
        ),
        (
            "PAGE_SIZE",
            "4294967296",
            "`PAGE_SIZE` does not fit: expected a whole number from 0 to 4294967295",
        ),
        (
            "PAGE_SIZE",
            "",
            "`PAGE_SIZE` does not fit: expected a whole number from 0 to 4294967295",
        ),
        ("shop.rate", "sesame", "`shop.rate` does not fit: expected a number"),
        (
            "PAGE_SIZE",
            "-0",
            "`PAGE_SIZE` does not fit: expected a whole number from 0 to 4294967295",
        ),
        ("shop.rate", "inf", "`shop.rate` does not fit: expected a number"),
        ("shop.rate", "NaN", "`shop.rate` does not fit: expected a number"),
        ("TYPE", "sesame", "`TYPE` does not fit: expected one character"),
        ("CURRENCY", "sesame", "`CURRENCY` does not fit: expected `EUR`"),
        ("OPEN", "sesame", "`OPEN` does not fit: expected `true` or `false`"),
    ] {
        let token = if name == "OTHER" { "OTHER" } else { "TOKEN" };
        let failure = read(&[(token, "x"), (name, value)]).expect_err("it does not fit");
        assert_eq!((failure.code(), failure.status()), ("invalid-variable", 500));
        assert_eq!(failure.message(), format!("the variable {problem}"));
        assert!(!format!("{failure:?} {failure}").contains("sesame"), "{failure:?}");
    }
}

#[derive(Variables)]
struct Size {
    page_size: u32,
}

struct Products;

#[controller("products")]
impl Products {
    #[get]
    fn list(settings: &Size) -> String {
        settings.page_size.to_string()
    }

    #[get("asked")]
    async fn asked(ctx: &AsyncContext, settings: Size) -> Result<String, Failure> {
        Ok((ctx.call::<Ask>(()).await? + settings.page_size).to_string())
    }
}

struct Db;

#[channel("db")]
impl Db {
    #[on(Ask)]
    fn ask(_delivery: &Delivery) -> Result<u32, Failure> {
        Size::read().map(|size| size.page_size)
    }
}

#[test]
fn handlers_and_listeners_have_the_variables_of_their_test() {
    let list = || TestRequest::get("/products");
    assert_eq!(list().variable("PAGE_SIZE", "7").run::<Products>().text(), "7");
    let asked = TestRequest::get("/products/asked").variable("PAGE_SIZE", "7");
    assert_eq!(asked.on::<Ask>(|()| 1).run::<Products>().text(), "8");
    let asked = TestEvent::new::<Ask>(()).variable("PAGE_SIZE", "7").run::<Db>();
    assert_eq!(asked.output::<Ask>(), 7);
    let answer = list().run::<Products>();
    assert_eq!(answer.status(), 500, "those of another test are gone");
    assert_eq!(answer.message(), Some("the server could not answer the request"));
    let asked = TestEvent::new::<Ask>(()).run::<Db>();
    assert_eq!(asked.failure().map(Failure::code), Some("invalid-variable"));
}

#[test]
fn a_test_within_a_test_has_variables_of_its_own() {
    let outer = |_: Context| {
        let inner = TestEvent::new::<Ask>(()).variable("PAGE_SIZE", "1").run::<Db>();
        let own = Size::read().map(|size| size.page_size);
        own.map(|own| format!("{own} {}", inner.output::<Ask>()))
    };
    let answer = TestRequest::get("/").variable("PAGE_SIZE", "2").run_with(outer);
    assert_eq!(answer.text(), "2 1");
}
