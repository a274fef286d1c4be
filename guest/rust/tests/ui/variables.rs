use pointwork_guest::{Variables, controller, module};

#[derive(Variables)]
struct Tuple(String);

#[derive(Variables)]
enum Many {
    One,
}

#[derive(Variables)]
struct Generic<T> {
    token: T,
}

#[derive(Variables)]
struct Attributes {
    #[variable(env = "TOKEN")]
    token: String,
    #[variable(name = "A=B")]
    name: String,
    #[variable(name = "ONE")]
    first: String,
    one: String,
}

#[derive(Variables)]
struct Twice {
    #[variable(name = "A", name = "B")]
    name: String,
    #[variable(default, default = "tea")]
    default: String,
}

#[derive(Variables)]
struct Types {
    list: Vec<String>,
}

struct Health;

#[controller("health")]
impl Health {
    #[get]
    fn show() -> String { String::new() }
}

module! { Health; variables: Health }

fn main() {}
