#![deny(deprecated)]

use pointwork_guest::{Context, Failure, controller, module};

struct Uploads;

#[controller("uploads")]
impl Uploads {
    #[post]
    fn put(ctx: &Context) -> Result<String, Failure> {
        let body = ctx.open_body()?;
        Ok(body.read(1024)?.unwrap_or_default().len().to_string())
    }

    #[post("streamed", body = "stream")]
    fn streamed(ctx: &Context) -> Result<String, Failure> {
        let body = ctx.open_body()?;
        Ok(body.read(1024)?.unwrap_or_default().len().to_string())
    }
}

module! { Uploads }

fn main() {}
