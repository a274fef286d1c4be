//! The same request as a component of WASI 0.2, for `wasmtime serve`.

use serde::Serialize;
use wasip2::exports::http::incoming_handler::Guest;
use wasip2::http::types::{Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam};

#[derive(Serialize)]
struct Item {
    id: u32,
    name: String,
}

struct Items;

impl Guest for Items {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let path = request.path_with_query().unwrap_or_default();
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
        let response = OutgoingResponse::new(headers);
        response
            .set_status_code(if item.is_some() { 200 } else { 404 })
            .expect("a status");
        let outgoing = response.body().expect("taken once");
        ResponseOutparam::set(out, Ok(response));
        let stream = outgoing.write().expect("taken once");
        stream.blocking_write_and_flush(&body).expect("it is read");
        drop(stream);
        OutgoingBody::finish(outgoing, None).expect("the length is right");
    }
}

wasip2::http::proxy::export!(Items);
