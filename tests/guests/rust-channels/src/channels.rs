use pointwork_guest::{Context, Delivery, Failure, HttpStatus, Payload, channel};
use serde_json::Value;

use crate::events::{Answer, CrashHeard, Look, Nest, Note, Noted, Picture, Product, ProductById};

/// The store.
pub struct Db;

#[channel("db")]
impl Db {
    #[on(ProductById)]
    fn by_id(id: u64) -> Option<Product> {
        (id == 7).then(|| Product { id, name: "tea".into() })
    }

    #[on(Nest)]
    fn nest(n: u32, delivery: &Delivery) -> Result<u32, Failure> {
        match n.checked_sub(1) {
            Some(rest) => Ok(1 + delivery.call::<Nest>(rest)?),
            None => Ok(0),
        }
    }

    #[on(Picture)]
    fn picture(id: u64) -> Result<Payload, Failure> {
        match id {
            7 => Ok(Payload::new("image/png", vec![0x89, b'P', b'N', b'G', 0, 0xff])),
            _ => Err(Failure::new(HttpStatus::NOT_FOUND, "no such picture")),
        }
    }

    #[on(Look)]
    fn look(picture: Payload) -> (String, usize) {
        (picture.content_type().to_owned(), picture.data().len())
    }

    #[on("trap")]
    fn trap() {
        panic!("this listener panics on purpose")
    }

    #[on("fail")]
    fn fail() -> Result<(), Failure> {
        Err(Failure::with_code(
            "conflict",
            HttpStatus::CONFLICT,
            "the store says no",
        ))
    }

    #[on("ask")]
    fn ask(delivery: Delivery, text: String) -> Result<String, Failure> {
        delivery.call::<Answer>(text)
    }

    /// Not a listener: it has no attribute.
    pub fn helper() -> &'static str {
        "helper"
    }
}

/// Replies instead of a controller.
pub struct Response;

#[channel("response")]
impl Response {
    #[on("send")]
    fn send(context: Context, text: String) -> Result<(), Failure> {
        context.send(text)
    }

    #[on("silent")]
    fn silent(context: Context) {
        drop(context);
    }

    #[on("twice")]
    fn twice(context: &Context, delivery: &Delivery, text: String) -> Result<(), Failure> {
        context.send(text.clone())?;
        let code = match context.send(text) {
            Ok(()) => "a second reply was taken".to_owned(),
            Err(error) => error.code().to_owned(),
        };
        delivery.emit::<Note>(code);
        Ok(())
    }
}

/// Forwards notes.
pub struct Audit;

#[channel("audit")]
impl Audit {
    #[on(Note)]
    fn note(delivery: &Delivery, text: String) -> Result<(), Failure> {
        delivery.call::<Noted>(text)
    }
}

/// Listens to the errors of the server.
pub struct Server;

#[channel("server")]
impl Server {
    #[on("crashed")]
    fn crashed(delivery: &Delivery, crash: Value) -> Result<(), Failure> {
        delivery.call::<CrashHeard>(crash)
    }
}
