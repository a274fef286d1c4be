use pointwork_guest::{Context, Deferred, Failure, HttpStatus, Json, Path, Payload, Reply, controller};

use crate::events::{Ask, Fail, Look, Nest, Note, Picture, Product, ProductById, Send, Silent, Trap, Twice};

/// Has no side effects of its own: it only calls channels.
pub struct Shop;

#[controller("shop")]
impl Shop {
    #[get(":id")]
    fn show(ctx: &Context, id: Path<u64>) -> Result<Json<Product>, Failure> {
        match ctx.call::<ProductById>(*id)? {
            Some(product) => Ok(Json(product)),
            None => Err(ctx.throw(HttpStatus::NOT_FOUND, "no such product")),
        }
    }

    #[get(":id/label")]
    fn label(ctx: Context, id: Path<u64>) -> Result<Deferred, Failure> {
        ctx.hand_over::<Send>(format!("label of {}", *id))
    }

    #[get("pictures/:id")]
    fn picture(ctx: &Context, id: Path<u64>) -> Result<Reply, Failure> {
        let picture = ctx.call::<Picture>(*id)?;
        let content_type = picture.content_type().to_owned();
        Ok(Reply::new(200_u16)
            .header("content-type", content_type)
            .bytes(picture.into_data()))
    }

    #[post("pictures")]
    fn look(ctx: &Context, picture: Vec<u8>) -> Result<Json<(String, usize)>, Failure> {
        let content_type = ctx.header("content-type").unwrap_or_default();
        ctx.call::<Look>(Payload::new(content_type, picture)).map(Json)
    }

    #[get("nested/:n")]
    fn nested(ctx: &Context, n: Path<u32>) -> Result<String, Failure> {
        Ok(ctx.call::<Nest>(*n)?.to_string())
    }

    #[get("emit/:text")]
    fn emit(ctx: &Context, text: Path<String>) -> &'static str {
        ctx.emit::<Note>(text.0);
        "emitted"
    }

    #[get("ask/:text")]
    fn ask(ctx: &Context, text: Path<String>) -> Result<String, Failure> {
        ctx.call::<Ask>(text.0)
    }

    #[get("trap")]
    fn trap(ctx: &Context) -> Result<&'static str, Failure> {
        ctx.call::<Trap>(()).map(|()| "the listener did not trap")
    }

    #[get("fail")]
    fn fail(ctx: &Context) -> String {
        match ctx.call::<Fail>(()) {
            Ok(()) => "the listener did not fail".into(),
            Err(error) => format!("{} {} {}", error.code(), error.status(), error.message()),
        }
    }

    #[get("silent")]
    fn silent(ctx: Context) -> Result<Deferred, Failure> {
        ctx.hand_over::<Silent>("never sent".into())
    }

    #[get("twice")]
    fn twice(ctx: Context) -> Result<Deferred, Failure> {
        ctx.hand_over::<Twice>("sent twice".into())
    }
}
