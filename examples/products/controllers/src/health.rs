//! `/health`

use catalogue::events::CountProducts;
use pointwork_guest::{Context, Failure, HttpStatus, Json, controller, log};
use serde::Serialize;

#[derive(Serialize)]
struct Report {
    status: &'static str,
    products: u64,
}

pub struct Health;

#[controller("health")]
impl Health {
    /// `GET /health`: 200 if the database answers, 503 if not
    #[get]
    fn show(ctx: &Context) -> Result<Json<Report>, Failure> {
        match ctx.call::<CountProducts>(()) {
            Ok(size) => Ok(Json(Report {
                status: "up",
                products: size.products,
            })),
            Err(error) => {
                log::error!("{error}");
                Err(ctx.throw(HttpStatus::SERVICE_UNAVAILABLE, "the database does not answer"))
            }
        }
    }
}
