//! Declarations that the SDK enforces when a request or an event arrives. The tests in `ui` have those that the compiler enforces.

use garde::Validate;
use pointwork_guest::testing::{TestEvent, TestRequest};
use pointwork_guest::{
    Context, Failure, Form, Guarded, Json, JsonOrForm, Params, Path, Query, Valid, channel, controller, events, guard,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Colour {
    #[default]
    DarkRed,
    #[serde(alias = "navy")]
    Blue,
}

/// Enums, a default, an alias, a name, an optional field, and no other fields.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Order {
    #[serde(default)]
    colour: Colour,
    #[serde(alias = "number")]
    how_many: u8,
    note: Option<String>,
}

#[derive(Debug, Deserialize, Serialize, Validate)]
struct Booking {
    #[garde(range(min = 1, max = 14))]
    nights: u32,
    #[garde(length(min = 1))]
    name: String,
}

events! {
    /// An order.
    Ordered = "log:ordered": Order;
    /// A booking.
    Booked = "log:booked": Booking => u32;
}

struct Tenant;

#[guard]
impl Tenant {
    fn check(tenant: Path<String>) -> Result<String, Failure> {
        Ok(tenant.0)
    }
}

#[derive(Debug, Deserialize)]
struct Pages {
    #[serde(flatten)]
    page: Page,
}

#[derive(Debug, Deserialize)]
struct Page {
    first: String,
    count: u32,
}

struct Orders;

#[controller("orders")]
impl Orders {
    #[post("json")]
    fn json(order: Json<Order>) -> String {
        format!("{:?}", order.0)
    }

    #[post("form")]
    fn form(order: Form<Order>) -> String {
        format!("{:?}", order.0)
    }

    #[post("either")]
    fn either(order: JsonOrForm<Order>) -> String {
        format!("{:?}", order.0)
    }

    #[get("query")]
    fn query(order: Query<Order>) -> String {
        format!("{:?}", order.0)
    }

    #[get("params/:colour/:number")]
    fn params(order: Params<Order>) -> String {
        format!("{:?}", order.0)
    }

    #[get([":tenant/tea", "tea"])]
    #[guard(Tenant)]
    fn tea(tenant: Guarded<Tenant>) -> String {
        tenant.clone()
    }

    #[get("pages")]
    fn pages(pages: Query<Pages>) -> String {
        format!("{} {}", pages.page.first, pages.page.count)
    }

    #[get("booked")]
    fn booked(ctx: &Context) -> Result<String, Failure> {
        ctx.call::<Booked>(Booking {
            nights: 2,
            name: "ada".into(),
        })
        .map(|nights| nights.to_string())
    }
}

struct Log;

#[channel("log")]
impl Log {
    #[on(Ordered)]
    fn ordered(order: Order) {
        assert!(order.how_many > 0, "{:?} {:?}", order.colour, order.note);
    }

    #[on(Booked)]
    fn booked(booking: Valid<Booking>) -> u32 {
        booking.nights
    }
}

/// The status and the text of an order that is sent in every way that a handler reads it.
fn ordered(fields: &[(&str, &str)], order: &Value) -> Vec<(u16, String)> {
    let requests = [
        TestRequest::post("/orders/json").json(order),
        TestRequest::post("/orders/form").form(fields),
        TestRequest::post("/orders/either").json(order),
        TestRequest::post("/orders/either").form(fields),
        TestRequest::get(&format!("/orders/query?{}", pairs(fields))),
    ];
    let answers = requests.map(|request| request.run::<Orders>());
    answers.map(|answer| (answer.status(), answer.text())).to_vec()
}

fn pairs(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

#[test]
fn types_enums_defaults_aliases_and_names_hold_wherever_a_handler_reads() {
    for (fields, order, expected) in [
        (
            &[("howMany", "7")][..],
            json!({ "howMany": 7 }),
            "Order { colour: DarkRed, how_many: 7, note: None }",
        ),
        (
            &[("number", "7"), ("colour", "blue"), ("note", "now")],
            json!({ "number": 7, "colour": "blue", "note": "now" }),
            "Order { colour: Blue, how_many: 7, note: Some(\"now\") }",
        ),
        (
            &[("howMany", "7"), ("colour", "navy")],
            json!({ "howMany": 7, "colour": "navy" }),
            "Order { colour: Blue, how_many: 7, note: None }",
        ),
    ] {
        for answer in ordered(fields, &order) {
            assert_eq!(answer, (200, expected.to_owned()));
        }
    }
    for (fields, order) in [
        (&[("howMany", "256")][..], json!({ "howMany": 256 })),
        (&[("howMany", "-1")], json!({ "howMany": -1 })),
        (&[("howMany", "x")], json!({ "howMany": "7" })),
        (&[("how_many", "7")], json!({ "how_many": 7 })),
        (
            &[("howMany", "7"), ("colour", "red")],
            json!({ "howMany": 7, "colour": "red" }),
        ),
        (
            &[("howMany", "7"), ("colour", "Blue")],
            json!({ "howMany": 7, "colour": "Blue" }),
        ),
        (
            &[("howMany", "7"), ("isAdmin", "true")],
            json!({ "howMany": 7, "isAdmin": true }),
        ),
        (&[("colour", "blue")], json!({ "colour": "blue" })),
    ] {
        for (status, text) in ordered(fields, &order) {
            assert_eq!(status, 400, "{text}");
        }
    }
    let params = |path: &str| TestRequest::get(path).run::<Orders>();
    assert_eq!(
        params("/orders/params/navy/7").text(),
        "Order { colour: Blue, how_many: 7, note: None }"
    );
    for path in ["/orders/params/Blue/7", "/orders/params/navy/256"] {
        assert_eq!(params(path).status(), 400, "{path}");
    }
}

#[test]
fn the_type_of_a_payload_holds() {
    let ordered = |order: Value| {
        let reaction = TestEvent::named("log:ordered", &order).run::<Log>();
        reaction
            .failure()
            .map(|failure| (failure.code().to_owned(), failure.status()))
    };
    assert_eq!(ordered(json!({ "number": 7, "colour": "navy" })), None);
    for order in [
        json!({ "howMany": 256 }),
        json!({ "howMany": 7, "colour": "red" }),
        json!({ "howMany": 7, "isAdmin": true }),
    ] {
        assert_eq!(ordered(order), Some(("bad-payload".to_owned(), 400)));
    }
}

#[test]
fn the_constraints_of_a_payload_hold() {
    let fine = TestEvent::new::<Booked>(Booking {
        nights: 2,
        name: "ada".into(),
    })
    .run::<Log>();
    assert_eq!(fine.output::<Booked>(), 2);
    let reaction = TestEvent::new::<Booked>(Booking {
        nights: 99,
        name: String::new(),
    })
    .run::<Log>();
    let failure = reaction.failure().expect("a failure");
    assert_eq!((failure.code(), failure.status()), ("bad-payload", 400));
    assert_eq!(failure.message(), "payload: 2 fields are not valid");
    let fields = json!([
        { "field": "name", "message": "length is lower than 1" },
        { "field": "nights", "message": "greater than 14" },
    ]);
    assert_eq!(
        failure.details().and_then(|mut details| details.remove("fields")),
        Some(fields)
    );
}

#[test]
fn a_guard_with_the_path_parameter_of_another_route_refuses() {
    assert_eq!(TestRequest::get("/orders/ada/tea").run::<Orders>().text(), "ada");
    let answer = TestRequest::get("/orders/tea").run::<Orders>();
    assert_eq!(
        (answer.status(), answer.message()),
        (500, Some("the server could not read the path"))
    );
}

#[test]
fn a_number_in_a_flattened_struct_of_a_query_is_400() {
    let answer = TestRequest::get("/orders/pages?first=a&count=7").run::<Orders>();
    assert_eq!(answer.status(), 400, "{:?}", answer.message());
}
