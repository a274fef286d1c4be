//! `/products`

use catalogue::events::{
    AllProducts, CountProducts, CreateProduct, DeleteProduct, OneProduct, ProductViewed, ProductViews, SearchProducts,
    Send, UpdateProduct,
};
use catalogue::{Needle, NewProduct, Product, Views, Window};
use pointwork_guest::{Context, Deferred, Failure, HttpStatus, Json, Path, Query, Reply, controller};
use serde::Deserialize;

use crate::model::{Fields, Page};

/// The maximum number of products in one reply.
const MOST: u32 = 100;

#[derive(Deserialize)]
struct Paging {
    #[serde(default = "first")]
    page: u32,
    #[serde(default = "usual")]
    per_page: u32,
}

fn first() -> u32 {
    1
}

fn usual() -> u32 {
    20
}

#[derive(Deserialize)]
struct Search {
    q: String,
}

pub struct Products;

#[controller("products")]
impl Products {
    /// `GET /products?page=1&per_page=20`
    #[get]
    fn list(ctx: &Context, paging: Query<Paging>) -> Result<Json<Page>, Failure> {
        let Paging { page, per_page } = paging.0;
        if page == 0 || !(1..=MOST).contains(&per_page) {
            let message = format!("query: expected a `page` of 1 or more and a `per_page` of 1 to {MOST}");
            return Err(ctx.throw(HttpStatus::BAD_REQUEST, message));
        }
        let offset = u64::from(page - 1) * u64::from(per_page);
        let products = ctx.call::<AllProducts>(Window {
            limit: per_page,
            offset,
        })?;
        let total = ctx.call::<CountProducts>(())?.products;
        Ok(Json(Page {
            products,
            page,
            per_page,
            total,
        }))
    }

    /// `GET /products/search?q=tea`
    #[get("search")]
    fn search(ctx: &Context, search: Query<Search>) -> Result<Json<Vec<Product>>, Failure> {
        let text = search.0.q;
        ctx.call::<SearchProducts>(Needle { text, limit: MOST }).map(Json)
    }

    /// `GET /products/:id`, which counts as a view
    #[get(":id")]
    fn show(ctx: &Context, id: Path<u64>) -> Result<Json<Product>, Failure> {
        let product = find(ctx, *id)?;
        ctx.emit::<ProductViewed>(*id);
        Ok(Json(product))
    }

    /// `GET /products/:id/views`
    #[get(":id/views")]
    fn views(ctx: &Context, id: Path<u64>) -> Result<Json<Views>, Failure> {
        ctx.call::<ProductViews>(*id)?.map(Json).ok_or_else(|| missing(*id))
    }

    /// `GET /products/:id/label`: the text for the shelf, which the channel `response` sends
    #[get(":id/label")]
    fn label(ctx: Context, id: Path<u64>) -> Result<Deferred, Failure> {
        let Product {
            name, sku, price_cents, ..
        } = find(&ctx, *id)?;
        let price = format!("{}.{:02}", price_cents / 100, price_cents % 100);
        ctx.hand_over::<Send>(format!("{name} ({sku}): {price}\n"))
    }

    /// `POST /products`
    #[post]
    fn create(ctx: &Context, new: Json<NewProduct>) -> Result<Reply, Failure> {
        let new = new.0;
        Fields::from(new.clone()).check()?;
        let sku = new.sku.clone();
        let product = ctx
            .call::<CreateProduct>(new)
            .map_err(|error| taken(error, Some(&sku)))?;
        // The path of the request, which includes a global prefix of the server.
        let location = format!("{}/{}", ctx.path(), product.id);
        Reply::new(HttpStatus::CREATED)
            .header("location", location)
            .json(&product)
    }

    /// `PUT /products/:id`: the whole product
    #[put(":id")]
    fn replace(ctx: &Context, id: Path<u64>, new: Json<NewProduct>) -> Result<Json<Product>, Failure> {
        change(ctx, *id, new.0.into())
    }

    /// `PATCH /products/:id`: the fields that are there
    #[patch(":id")]
    fn update(ctx: &Context, id: Path<u64>, fields: Json<Fields>) -> Result<Json<Product>, Failure> {
        change(ctx, *id, fields.0)
    }

    /// `DELETE /products/:id`
    #[delete(":id")]
    fn delete(ctx: &Context, id: Path<u64>) -> Result<HttpStatus, Failure> {
        match ctx.call::<DeleteProduct>(*id)? {
            0 => Err(missing(*id)),
            _ => Ok(HttpStatus::NO_CONTENT),
        }
    }
}

fn find(ctx: &Context, id: u64) -> Result<Product, Failure> {
    ctx.call::<OneProduct>(id)?.ok_or_else(|| missing(id))
}

fn change(ctx: &Context, id: u64, fields: Fields) -> Result<Json<Product>, Failure> {
    let change = fields.change(id)?;
    let sku = change.sku.clone();
    let changed = ctx
        .call::<UpdateProduct>(change)
        .map_err(|error| taken(error, sku.as_deref()))?;
    changed.map(Json).ok_or_else(|| missing(id))
}

fn missing(id: u64) -> Failure {
    Failure::new(HttpStatus::NOT_FOUND, format!("no product has the id {id}"))
}

/// The reply to a failed call. `conflict` means that another product has the SKU.
fn taken(error: Failure, sku: Option<&str>) -> Failure {
    match sku {
        Some(sku) if error.code() == "conflict" => {
            Failure::new(HttpStatus::CONFLICT, format!("another product has the SKU `{sku}`"))
        }
        _ => error.into(),
    }
}
