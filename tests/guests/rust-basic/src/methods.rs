use pointwork_guest::{Context, HttpStatus, Reply, RequestMethod, controller};

/// All attributes at one path. Each handler replies with its own name.
pub struct Methods;

/// The name is in a header, since replies to HEAD and CONNECT have no body.
fn named(name: &'static str) -> Reply {
    Reply::new(HttpStatus::OK).header("x-handler", name).text(name)
}

#[controller("methods")]
impl Methods {
    #[all]
    fn all() -> Reply {
        named("all")
    }

    #[get]
    fn get() -> Reply {
        named("get")
    }

    #[post]
    fn post() -> Reply {
        named("post")
    }

    #[put]
    fn put() -> Reply {
        named("put")
    }

    #[patch]
    fn patch() -> Reply {
        named("patch")
    }

    #[delete]
    fn delete() -> Reply {
        named("delete")
    }

    #[head]
    fn head() -> Reply {
        named("head")
    }

    #[options]
    fn options() -> Reply {
        named("options")
    }

    #[trace]
    fn trace() -> Reply {
        named("trace")
    }

    #[connect]
    fn connect() -> Reply {
        named("connect")
    }

    #[purge]
    fn purge() -> Reply {
        named("purge")
    }

    #[search]
    fn search() -> Reply {
        named("search")
    }

    #[propfind]
    fn propfind() -> Reply {
        named("propfind")
    }

    #[proppatch]
    fn proppatch() -> Reply {
        named("proppatch")
    }

    #[mkcol]
    fn mkcol() -> Reply {
        named("mkcol")
    }

    #[copy]
    fn copy() -> Reply {
        named("copy")
    }

    #[r#move]
    fn r#move() -> Reply {
        named("move")
    }

    #[lock]
    fn lock() -> Reply {
        named("lock")
    }

    #[unlock]
    fn unlock() -> Reply {
        named("unlock")
    }

    #[acl]
    fn acl() -> Reply {
        named("acl")
    }

    #[report]
    fn report() -> Reply {
        named("report")
    }

    #[request_mapping(path = "mapped", method = RequestMethod::All)]
    #[request_mapping(path = "mapped", method = RequestMethod::Get)]
    #[request_mapping(path = "mapped", method = RequestMethod::Post)]
    #[request_mapping(path = "mapped", method = RequestMethod::Put)]
    #[request_mapping(path = "mapped", method = RequestMethod::Patch)]
    #[request_mapping(path = "mapped", method = RequestMethod::Delete)]
    #[request_mapping(path = "mapped", method = RequestMethod::Head)]
    #[request_mapping(path = "mapped", method = RequestMethod::Options)]
    #[request_mapping(path = "mapped", method = RequestMethod::Trace)]
    #[request_mapping(path = "mapped", method = RequestMethod::Connect)]
    #[request_mapping(path = "mapped", method = RequestMethod::Purge)]
    #[request_mapping(path = "mapped", method = RequestMethod::Search)]
    #[request_mapping(path = "mapped", method = RequestMethod::Propfind)]
    #[request_mapping(path = "mapped", method = RequestMethod::Proppatch)]
    #[request_mapping(path = "mapped", method = RequestMethod::Mkcol)]
    #[request_mapping(path = "mapped", method = RequestMethod::Copy)]
    #[request_mapping(path = "mapped", method = RequestMethod::Move)]
    #[request_mapping(path = "mapped", method = RequestMethod::Lock)]
    #[request_mapping(path = "mapped", method = RequestMethod::Unlock)]
    #[request_mapping(path = "mapped", method = RequestMethod::Acl)]
    #[request_mapping(path = "mapped", method = RequestMethod::Report)]
    fn mapped(ctx: &Context) -> Reply {
        let method = ctx.method();
        Reply::new(HttpStatus::OK)
            .header("x-handler", method.clone())
            .text(method)
    }
}
