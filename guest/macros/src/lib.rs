//! The attributes of `pointwork-guest`, which re-exports and documents them; use them through that crate.

mod controller;
mod errors;
mod expand;
mod handler;
mod mapping;
mod path;

use proc_macro::TokenStream;

/// Makes an inherent impl block a controller: a path prefix with handlers (spec D1).
///
/// See `pointwork_guest::controller` for the guide.
#[proc_macro_attribute]
pub fn controller(arguments: TokenStream, item: TokenStream) -> TokenStream {
    controller::controller(arguments.into(), item.into()).into()
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
