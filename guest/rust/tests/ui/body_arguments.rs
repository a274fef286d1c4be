use pointwork_guest::{Json, Path, controller};

struct Bodies;

#[controller("bodies")]
impl Bodies {
    #[get(":name")]
    fn index(name: String) -> String {
        name
    }

    #[get("whole", body = "whole")]
    fn whole(body: String) -> String {
        body
    }

    #[get("search")]
    #[post("search")]
    fn search(filter: Json<u32>) -> String {
        filter.to_string()
    }

    #[head("head")]
    fn head(body: &Vec<u8>) -> String {
        body.len().to_string()
    }

    #[all("all")]
    fn all(body: String) -> String {
        body
    }

    #[all("all-whole", body = "whole")]
    fn all_whole(body: String) -> String {
        body
    }

    #[put(":id")]
    fn put(id: Path<u32>, body: String) -> String {
        format!("{} {body}", *id)
    }
}

fn main() {}
