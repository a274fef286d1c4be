use pointwork_guest::{Json, controller};

struct Words;

#[controller]
impl Words {
    #[post("a", body = "chunked")]
    fn word() -> &'static str {
        ""
    }

    #[post("b", body = stream)]
    fn literal() -> &'static str {
        ""
    }

    #[post("c", mode = "stream")]
    fn key() -> &'static str {
        ""
    }

    #[request_mapping(method = "NOTIFY", body = "")]
    fn mapping() -> &'static str {
        ""
    }
}

struct Bodies;

#[controller("bodies")]
impl Bodies {
    #[post("a", body = "none")]
    fn text(_text: String) -> &'static str {
        ""
    }

    #[post("b", body = "none")]
    #[put("b")]
    fn json(_json: &Json<u64>) -> &'static str {
        ""
    }

    #[post("c", body = "stream")]
    fn stream(_bytes: Vec<u8>) -> &'static str {
        ""
    }
}

fn main() {}
