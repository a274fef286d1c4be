use pointwork_guest::controller;

struct Files;

#[controller("files")]
impl Files {
    #[get(7)]
    fn number() {}

    #[get("a", "b")]
    fn two_paths() {}

    #[get(["a"], ["b"])]
    fn two_lists() {}

    #[get(["a", 7])]
    fn number_in_list() {}

    #[get([])]
    fn empty_list() {}

    #[get = "a"]
    fn equals() {}
}

fn main() {}
