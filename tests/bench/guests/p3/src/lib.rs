//! The same request as a component of WASI 0.3, for `wasmtime serve`.

use serde::Serialize;
use wasip3::exports::http::handler::Guest;
use wasip3::http::types::{ErrorCode, Fields, Request, Response};
use wasip3::{wit_future, wit_stream};

#[derive(Serialize)]
struct Item {
    id: u32,
    name: String,
}

struct Items;

impl Guest for Items {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        let path = request.get_path_with_query().unwrap_or_default();
        let item = path
            .strip_prefix("/items/")
            .and_then(|id| id.parse().ok())
            .map(|id| Item {
                id,
                name: "Assam".into(),
            });
        let body = serde_json::to_vec(&item).expect("an item has no map");
        let headers = Fields::new();
        headers
            .set("content-type", &[b"application/json".to_vec()])
            .expect("it may be set");
        headers
            .set("content-length", &[body.len().to_string().into_bytes()])
            .expect("it may be set");
        let (mut writer, contents) = wit_stream::new();
        let (trailers, end) = wit_future::new(|| Ok(None));
        drop(trailers);
        let (response, _sent) = Response::new(headers, Some(contents), end);
        response
            .set_status_code(if item.is_some() { 200 } else { 404 })
            .expect("a status");
        wasip3::spawn_local(async move {
            writer.write_all(body).await;
        });
        Ok(response)
    }
}

wasip3::http::service::export!(Items);
