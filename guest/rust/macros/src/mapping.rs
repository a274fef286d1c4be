//! The attributes of handlers: a method and paths (spec D2, D3).

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitStr, Meta, Token, bracketed};

use crate::errors::Errors;
use crate::path;

/// Attribute and method token. `all` has none.
const METHODS: &[(&str, Option<&str>)] = &[
    ("get", Some("GET")),
    ("post", Some("POST")),
    ("put", Some("PUT")),
    ("patch", Some("PATCH")),
    ("delete", Some("DELETE")),
    ("head", Some("HEAD")),
    ("options", Some("OPTIONS")),
    ("all", None),
    ("trace", Some("TRACE")),
    ("connect", Some("CONNECT")),
    ("purge", Some("PURGE")),
    ("search", Some("SEARCH")),
    ("propfind", Some("PROPFIND")),
    ("proppatch", Some("PROPPATCH")),
    ("mkcol", Some("MKCOL")),
    ("copy", Some("COPY")),
    ("r#move", Some("MOVE")),
    ("move_", Some("MOVE")),
    ("lock", Some("LOCK")),
    ("unlock", Some("UNLOCK")),
    ("acl", Some("ACL")),
    ("report", Some("REPORT")),
];

/// One attribute of a handler.
pub(crate) struct Mapping {
    /// An expression of type `Option<&'static str>`.
    pub(crate) method: TokenStream,
    pub(crate) paths: Vec<LitStr>,
}

/// The name of a handler attribute, if it is one.
pub(crate) fn name(attribute: &Attribute) -> Option<String> {
    let path = attribute.path();
    let qualified = path
        .segments
        .first()
        .is_some_and(|first| first.ident == "pointwork_guest");
    if path.segments.len() > 1 && !qualified {
        return None;
    }
    let name = path.segments.last()?.ident.to_string();
    let known = name == "request_mapping" || METHODS.iter().any(|(known, _)| *known == name);
    known.then_some(name)
}

/// Reads a handler attribute of that name.
pub(crate) fn read(attribute: &Attribute, name: &str, errors: &mut Errors) -> Option<Mapping> {
    let mapping = if name == "request_mapping" {
        errors.keep(request_mapping(attribute))?
    } else {
        let method = METHODS
            .iter()
            .find(|(known, _)| *known == name)
            .and_then(|(_, token)| *token);
        let method = match method {
            Some(token) => quote!(::core::option::Option::Some(#token)),
            None => quote!(::core::option::Option::None),
        };
        Mapping {
            method,
            paths: errors.keep(shorthand(attribute, name))?,
        }
    };
    for path in &mapping.paths {
        path::check(path, errors);
    }
    Some(mapping)
}

fn shorthand(attribute: &Attribute, name: &str) -> syn::Result<Vec<LitStr>> {
    let expected = format!(
        "expected no path `#[{name}]`, one path `#[{name}(\":id\")]`, or a list of paths `#[{name}([\"a\", \"b\"])]`"
    );
    match &attribute.meta {
        Meta::Path(_) => Ok(Vec::new()),
        Meta::List(list) => list.parse_args_with(|input: ParseStream<'_>| {
            if input.is_empty() {
                return Ok(Vec::new());
            }
            let paths = Paths::read(input, &expected)?;
            let _: Option<Token![,]> = input.parse()?;
            if input.is_empty() {
                Ok(paths)
            } else {
                Err(input.error(format!("found more than one argument, {expected}")))
            }
        }),
        Meta::NameValue(pair) => Err(syn::Error::new(pair.eq_token.span(), format!("found `=`, {expected}"))),
    }
}

struct Paths;

impl Paths {
    fn read(input: ParseStream<'_>, expected: &str) -> syn::Result<Vec<LitStr>> {
        if input.peek(LitStr) {
            return Ok(vec![input.parse()?]);
        }
        if !input.peek(syn::token::Bracket) {
            return Err(input.error(format!("found no path, {expected}")));
        }
        let content;
        let bracket = bracketed!(content in input);
        let mut paths = Vec::new();
        while !content.is_empty() {
            if !content.peek(LitStr) {
                return Err(content.error(format!("found no path in the list, {expected}")));
            }
            paths.push(content.parse()?);
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        if paths.is_empty() {
            return Err(syn::Error::new(
                bracket.span.join(),
                format!("found an empty list, {expected}"),
            ));
        }
        Ok(paths)
    }
}

const EXPECTED_MAPPING: &str = "expected `#[request_mapping(path = \":id\", method = RequestMethod::Propfind)]`, where \
                                `path` may be left out or be a list, and `method` may be a token such as `\"NOTIFY\"`";

enum Pair {
    Path(Ident, Vec<LitStr>),
    Method(Ident, TokenStream),
}

impl Parse for Pair {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key: Ident = input
            .parse()
            .map_err(|error| syn::Error::new(error.span(), format!("found no key, {EXPECTED_MAPPING}")))?;
        if key != "path" && key != "method" {
            return Err(syn::Error::new(
                key.span(),
                format!("unknown key `{key}`, {EXPECTED_MAPPING}"),
            ));
        }
        input.parse::<Token![=]>()?;
        if key == "path" {
            Ok(Self::Path(key, Paths::read(input, EXPECTED_MAPPING)?))
        } else {
            Ok(Self::Method(key, method(&input.parse()?)?))
        }
    }
}

fn request_mapping(attribute: &Attribute) -> syn::Result<Mapping> {
    let Meta::List(list) = &attribute.meta else {
        return Err(syn::Error::new(
            attribute.span(),
            format!("found no `method`, {EXPECTED_MAPPING}"),
        ));
    };
    let (mut paths, mut method) = (None, None);
    for pair in list.parse_args_with(Punctuated::<Pair, Token![,]>::parse_terminated)? {
        let (key, twice) = match pair {
            Pair::Path(key, list) => (key, paths.replace(list).is_some()),
            Pair::Method(key, token) => (key, method.replace(token).is_some()),
        };
        if twice {
            return Err(syn::Error::new(
                key.span(),
                format!("`{key}` is given twice, {EXPECTED_MAPPING}"),
            ));
        }
    }
    let method = method.ok_or_else(|| {
        syn::Error::new(
            attribute.path().span(),
            format!("found no `method`, {EXPECTED_MAPPING}"),
        )
    })?;
    Ok(Mapping {
        method,
        paths: paths.unwrap_or_default(),
    })
}

fn method(value: &Expr) -> syn::Result<TokenStream> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(token), ..
        }) => {
            check_token(token)?;
            Ok(quote!(::core::option::Option::Some(#token)))
        }
        Expr::Path(_) => Ok(quote!(::pointwork_guest::RequestMethod::token(#value))),
        _ => Err(syn::Error::new(
            value.span(),
            format!("found no method, {EXPECTED_MAPPING}"),
        )),
    }
}

fn check_token(literal: &LitStr) -> syn::Result<()> {
    let token = literal.value();
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if token.is_empty() || !token.bytes().all(is_token) {
        let message = format!("`{token}` is no method, expected an HTTP token such as `NOTIFY`");
        return Err(syn::Error::new(literal.span(), message));
    }
    let upper = token.to_ascii_uppercase();
    if upper != token && METHODS.iter().any(|(_, known)| *known == Some(&upper)) {
        let message = format!("`{token}` is not the method `{upper}`: methods are case-sensitive, expected `{upper}`");
        return Err(syn::Error::new(literal.span(), message));
    }
    Ok(())
}
