use pointwork_guest::channel;

struct Db;

#[channel("db")]
impl Db {
    #[on("method")]
    fn method(&self) {}

    #[on("generic")]
    fn generic<T>() {}

    #[on("text")]
    fn text(_text: &str) {}

    #[on("bytes")]
    fn bytes(_bytes: &[u8]) {}

    #[on("mutable")]
    fn mutable(_text: &mut String) {}
}

trait Listening {
    fn all();
}

struct Inherited;

#[channel("db")]
impl Listening for Inherited {
    #[on("all")]
    fn all() {}
}

fn main() {}
