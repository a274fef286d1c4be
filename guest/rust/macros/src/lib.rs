//! The attributes of `pointwork-guest`. `pointwork-guest` re-exports and documents the attributes: use them from there.

#![forbid(unsafe_code)]

mod block;
mod duplicates;
mod errors;
mod events_used;
mod expand;
mod expand_handler;
mod expand_listener;
mod guard;
mod handler;
mod listener;
mod mapping;
mod metadata;
mod path;
mod signature;
mod variables;

use proc_macro::TokenStream;

/// Makes an inherent impl block a controller: handlers with a common path prefix.
///
/// `pointwork_guest::controller` has the guide.
#[proc_macro_attribute]
pub fn controller(arguments: TokenStream, item: TokenStream) -> TokenStream {
    block::expand::<handler::Handler>(arguments.into(), item.into()).into()
}

/// Makes an inherent impl block a channel: a named group of listeners.
///
/// `pointwork_guest::channel` has the guide.
#[proc_macro_attribute]
pub fn channel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    block::expand::<listener::Listener>(arguments.into(), item.into()).into()
}

/// The variables of a module as the fields of a struct.
///
/// `pointwork_guest::Variables` has the guide.
#[proc_macro_derive(Variables, attributes(variable))]
pub fn variables(item: TokenStream) -> TokenStream {
    match syn::parse(item) {
        Ok(input) => variables::derive(&input).into(),
        Err(error) => error.to_compile_error().into(),
    }
}

/// Makes an inherent impl block a guard: code that lets a request pass to its handler or refuses it.
///
/// `pointwork_guest::guard` has the guide.
#[proc_macro_attribute]
pub fn guard(arguments: TokenStream, item: TokenStream) -> TokenStream {
    guard::expand(guard::Kind::Guard, arguments.into(), item.into()).into()
}

/// Makes an inherent impl block an after-hook: code that sees and may change what became of a request.
///
/// `pointwork_guest::after` has the guide.
#[proc_macro_attribute]
pub fn after(arguments: TokenStream, item: TokenStream) -> TokenStream {
    guard::expand(guard::Kind::After, arguments.into(), item.into()).into()
}

/// Attributes that `#[controller]` and `#[channel]` remove before the compiler expands them. One that the compiler does
/// expand is in the wrong place.
macro_rules! misplaced {
    ($block:literal, $example:literal, $($name:ident)*) => {$(
        #[doc = concat!("Registers a function inside an impl block with `", $block, "`: `#[", stringify!($name), "]`.")]
        #[proc_macro_attribute]
        pub fn $name(_arguments: TokenStream, item: TokenStream) -> TokenStream {
            let message = concat!(
                "`#[", stringify!($name), "]` is outside an impl block with `", $block, "`, expected `", $example,
                "` around the function"
            );
            errors::beside(item.into(), message).into()
        }
    )*};
}

misplaced! {
    "#[controller]", "#[controller(\"prefix\")] impl Products { … }",
    get post put patch delete head options all trace connect purge search propfind proppatch mkcol copy r#move
    move_ lock unlock acl report request_mapping
}

misplaced! { "#[channel]", "#[channel(\"name\")] impl Db { … }", on }
