use pointwork_guest::controller;

struct Files;

#[controller("files")]
impl Files {
    #[request_mapping]
    fn nothing() {}

    #[request_mapping(path = "a")]
    fn no_method() {}

    #[request_mapping(method = "NOT A TOKEN")]
    fn no_token() {}

    #[request_mapping(method = "propfind")]
    fn lower_case() {}

    #[request_mapping(method = 7)]
    fn number() {}

    #[request_mapping(verb = "GET")]
    fn key() {}

    #[request_mapping(method = "GET", method = "PUT")]
    fn twice() {}
}

fn main() {}
