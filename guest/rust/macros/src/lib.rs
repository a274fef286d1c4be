//! The attributes of `pointwork-guest`, which re-exports and documents them; use them through that crate.

mod block;
mod channel;
mod controller;
mod errors;
mod expand;
mod expand_channel;
mod handler;
mod listener;
mod mapping;
mod path;
mod tokens;

use proc_macro::TokenStream;

/// Makes an inherent impl block a controller: a path prefix with handlers (spec D1).
///
/// See `pointwork_guest::controller` for the guide.
#[proc_macro_attribute]
pub fn controller(arguments: TokenStream, item: TokenStream) -> TokenStream {
    controller::controller(arguments.into(), item.into()).into()
}

/// Makes an inherent impl block a channel: a named group of listeners (spec C1).
///
/// See `pointwork_guest::channel` for the guide.
#[proc_macro_attribute]
pub fn channel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    channel::channel(arguments.into(), item.into()).into()
}

/// Binds a listener inside a `#[channel]` impl block: `#[on("product:all")]`.
#[proc_macro_attribute]
pub fn on(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let message = "`#[on]` stands on a function inside an impl block with `#[channel]`; expected `#[channel(\"name\")] impl \
                   Db { … }` around it";
    errors::beside(item.into(), message).into()
}

/// `#[controller]` takes these attributes off before the compiler looks for them. Whoever reaches one of them has put it
/// somewhere else.
macro_rules! misplaced {
    ($($name:ident $shown:literal,)*) => {$(
        #[doc = concat!("Binds a handler inside a `#[controller]` impl block: `#[", $shown, "]`.")]
        #[proc_macro_attribute]
        pub fn $name(_arguments: TokenStream, item: TokenStream) -> TokenStream {
            let message = concat!(
                "`#[", $shown, "]` stands on a function inside an impl block with `#[controller]`; expected \
                 `#[controller(\"prefix\")] impl Products { … }` around it"
            );
            errors::beside(item.into(), message).into()
        }
    )*};
}

misplaced! {
    get "get",
    post "post",
    put "put",
    patch "patch",
    delete "delete",
    head "head",
    options "options",
    all "all",
    trace "trace",
    connect "connect",
    purge "purge",
    search "search",
    propfind "propfind",
    proppatch "proppatch",
    mkcol "mkcol",
    copy "copy",
    r#move "r#move",
    move_ "move_",
    lock "lock",
    unlock "unlock",
    acl "acl",
    report "report",
    request_mapping "request_mapping",
}
