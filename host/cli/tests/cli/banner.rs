//! The banner of `pointwork serve`.

use pointwork_suite::guest::{Channel, Controller, Guest, Program};
use snapbox::str;

use crate::example::Example;
use crate::server::Server;
use crate::{folder, run, stderr, write};

#[test]
fn banner_lists_routes_and_channels_and_ends_with_the_address() {
    let folder = Example::Native.built();
    let server = Server::start(folder.path(), ["--prefix", "/api"]);
    let address = format!("listening on http://{}\n", server.address);
    assert!(server.banner.ends_with(&address), "{}", server.banner);
    snapbox::assert_data_eq!(
        server.banner.replace(&address, ""),
        str![[r#"
pointwork 0.2.0 on hyper

METHOD  PATH                     MODULE    HANDLER
GET     /api/products            products  Products.list
GET     /api/products/search     products  Products.search
GET     /api/products/:id        products  Products.show
GET     /api/products/:id/views  products  Products.views
GET     /api/products/:id/label  products  Products.label
POST    /api/products            products  Products.create
PUT     /api/products/:id        products  Products.replace
PATCH   /api/products/:id        products  Products.update
DELETE  /api/products/:id        products  Products.delete
GET     /api/health              products  Health.show

CHANNEL   DRIVER    EVENTS
db        sqlite    product:all, product:count, product:create, product:delete, product:one, product:search, product:update, product:viewed, product:views
response  response  send

MODULE    EVENTS USED
products  db:product:all, db:product:count, db:product:create, db:product:delete, db:product:one, db:product:search, db:product:update, db:product:views, product:viewed, response:send


"#]]
    );
    assert_eq!(server.get("/api/products/1").status, 200);
    assert_eq!(server.get("/products/1").status, 404);
}

#[test]
fn banner_lists_channels_and_capabilities_of_modules() {
    let folder = Example::Components.built();
    let server = Example::Components.start(&folder);
    let tables = server.banner.split_once("CHANNEL").expect("a table of channels").1;
    let address = format!("listening on http://{}\n", server.address);
    snapbox::assert_data_eq!(
        format!("CHANNEL{}", tables.replace(&address, "")),
        str![[r#"
CHANNEL   DRIVER        EVENTS
db        module store  [..]product:all[..]
response  module store  send

MODULE    EVENTS USED
products  db:product:all, db:product:count, db:product:create, db:product:delete, db:product:one, db:product:search, db:product:update, db:product:views, product:viewed, response:send

MODULE  ASKS                                              GRANTED
store   clocks, random, output, environment, directories  clocks; random; output; environment STORE_DIR; directories /data (read-write)


"#]]
    );
}

#[test]
fn channels_of_the_host_and_of_modules_stand_in_one_table() {
    let folder = folder();
    let module = Guest::new()
        .channel(
            Channel::new("stock")
                .on("count", Program::new())
                .on("item:one", Program::text("{}")),
        )
        .controller(Controller::new("Stock", "stock").route(
            "all",
            Some("GET"),
            &[""],
            Program::new().call("stock:count"),
        ));
    write(&folder, "stock.wasm", module.build());
    let config = "[[module]]\npath = \"stock.wasm\"\n[channels.response]\ndriver = \"response\"\n";
    write(&folder, "pointwork.toml", config);
    let server = Server::start(folder.path(), [""; 0]);
    let address = format!("listening on http://{}\n", server.address);
    snapbox::assert_data_eq!(
        server.banner.replace(&address, ""),
        str![[r#"
pointwork 0.2.0 on hyper

METHOD  PATH    MODULE  HANDLER
GET     /stock  stock   Stock.all

CHANNEL   DRIVER        EVENTS
response  response      send
stock     module stock  count, item:one


"#]]
    );
    assert_eq!(server.get("/stock").body, "null", "the listener gives back what it got");
}

#[test]
fn channel_of_a_module_that_the_host_has_too_is_refused_with_both_owners() {
    let folder = folder();
    let module = Guest::new().channel(Channel::new("response").on("send", Program::text("null")));
    write(&folder, "reply.wasm", module.build());
    let config = "[[module]]\npath = \"reply.wasm\"\n[channels.response]\ndriver = \"response\"\n";
    write(&folder, "pointwork.toml", config);
    let text = stderr(run(&folder, "serve"), 5);
    assert!(
        text.contains("error: module `reply` from `reply.wasm` is refused\n"),
        "{text}"
    );
    let owners =
        "event `send` of channel `response` would have two listeners, in the host application and in module `reply`";
    assert!(text.contains(owners), "{text}");
}
