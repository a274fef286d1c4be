//! The attributes of handlers: a method and paths.

use pointwork_patterns::Pattern;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitStr, Meta, Token, bracketed};

use crate::errors::{Errors, end};
use crate::path;

/// The methods with an attribute of the same name in lower case. Rust reserves `move`, whose attribute has two names.
const METHODS: &str = "GET POST PUT PATCH DELETE HEAD OPTIONS TRACE CONNECT PURGE SEARCH PROPFIND PROPPATCH MKCOL COPY \
                       MOVE LOCK UNLOCK ACL REPORT";

const EXPECTED_MAPPING: &str = "expected `#[request_mapping(path = \":id\", method = RequestMethod::Propfind)]`, where \
                                `path` is optional and may be a list, `method` may be a token such as `\"NOTIFY\"`, \
                                and `body` may follow";

/// How a handler takes the request body.
const BODIES: &[&str] = &["none", "whole", "stream"];

/// One attribute of a handler.
pub(crate) struct Mapping {
    /// An expression of type `Option<&'static str>`.
    pub(crate) method: TokenStream,
    pub(crate) paths: Vec<MappedPath>,
    pub(crate) body: &'static str,
    /// Whether the attribute says so.
    pub(crate) declares_body: bool,
}

/// One path of a handler.
pub(crate) struct MappedPath {
    /// The path as written; `None` if the attribute has no path, so that the route is the prefix itself.
    pub(crate) literal: Option<LitStr>,
    /// Prefix and path together.
    pub(crate) pattern: Pattern,
}

/// The method of an attribute; `None` if there is no attribute of that name.
fn method_of(attribute: &str) -> Option<&'static str> {
    let name = match attribute {
        "r#move" | "move_" => "move",
        name => name,
    };
    METHODS.split(' ').find(|method| method.to_ascii_lowercase() == name)
}

/// Whether there is a handler attribute of that name.
pub(crate) fn is_attribute(name: &str) -> bool {
    matches!(name, "all" | "request_mapping") || method_of(name).is_some()
}

/// Reads a handler attribute of that name.
pub(crate) fn read(attribute: &Attribute, name: &str, prefix: &str, errors: &mut Errors) -> Option<Mapping> {
    let (method, paths, body) = if name == "request_mapping" {
        errors.keep(request_mapping(attribute))?
    } else {
        let method = match method_of(name) {
            Some(token) => quote!(::core::option::Option::Some(#token)),
            None => quote!(::core::option::Option::None),
        };
        let (paths, body) = errors.keep(shorthand(attribute, name))?;
        (method, paths, body)
    };
    let itself = Pattern::parse(prefix).ok().filter(|_| paths.is_empty());
    let itself = itself.map(|pattern| MappedPath { literal: None, pattern });
    let joined = paths.into_iter().filter_map(|path| {
        Some(MappedPath {
            pattern: path::join(prefix, &path, errors)?,
            literal: Some(path),
        })
    });
    let paths = joined.chain(itself).collect();
    Some(Mapping {
        method,
        paths,
        body: body.unwrap_or(WHOLE),
        declares_body: body.is_some(),
    })
}

fn shorthand(attribute: &Attribute, name: &str) -> syn::Result<(Vec<LitStr>, Option<&'static str>)> {
    let expected = format!(
        "expected no path `#[{name}]`, one path `#[{name}(\":id\")]`, or a list of paths `#[{name}([\"a\", \"b\"])]`, each \
         with or without `body = \"stream\"` at the end"
    );
    match &attribute.meta {
        Meta::Path(_) => Ok((Vec::new(), None)),
        Meta::List(list) => list.parse_args_with(|input: ParseStream<'_>| {
            let mut found = Vec::new();
            if !input.is_empty() && !input.peek(Ident) {
                found = paths(input, &expected)?;
                let _: Option<Token![,]> = input.parse()?;
            }
            let mut mode = None;
            if input.peek(Ident) {
                let key: Ident = input.parse()?;
                if key == "guard" || key == "after" {
                    return Err(on_mapping(&key));
                }
                if key != "body" {
                    return Err(error(key.span(), &format!("unknown key `{key}`"), &expected));
                }
                input.parse::<Token![=]>()?;
                mode = Some(body(input)?);
            }
            end(input, format_args!("found more than one argument, {expected}"))?;
            Ok((found, mode))
        }),
        Meta::NameValue(pair) => Err(error(pair.eq_token.span(), "found `=`", &expected)),
    }
}

fn on_mapping(key: &Ident) -> syn::Error {
    let found = format!("`{key}` is on one mapping, which would leave the others without it");
    error(key.span(), &found, &format!("expected `#[{key}(…)]` on the function"))
}

/// The default: the handler runs when the host has the whole body.
const WHOLE: &str = BODIES[1];

fn body(input: ParseStream<'_>) -> syn::Result<&'static str> {
    let expected = "expected `\"none\"`, `\"whole\"` or `\"stream\"`";
    let literal: LitStr = input
        .parse()
        .map_err(|other: syn::Error| error(other.span(), "found no body mode", expected))?;
    let word = literal.value();
    let found = BODIES.iter().find(|mode| **mode == word);
    found
        .copied()
        .ok_or_else(|| error(literal.span(), &format!("`{word}` is not a body mode"), expected))
}

/// One path, or a list of at least one.
fn paths(input: ParseStream<'_>, expected: &str) -> syn::Result<Vec<LitStr>> {
    if input.peek(LitStr) {
        return Ok(vec![input.parse()?]);
    }
    if !input.peek(syn::token::Bracket) {
        return Err(input.error(format_args!("found no path, {expected}")));
    }
    let content;
    let bracket = bracketed!(content in input);
    let paths = Punctuated::<LitStr, Token![,]>::parse_terminated(&content)
        .map_err(|other| error(other.span(), "found no path in the list", expected))?;
    if paths.is_empty() {
        return Err(error(bracket.span.join(), "found an empty list", expected));
    }
    Ok(paths.into_iter().collect())
}

fn request_mapping(attribute: &Attribute) -> syn::Result<(TokenStream, Vec<LitStr>, Option<&'static str>)> {
    let no_method = || error(attribute.path().span(), "found no `method`", EXPECTED_MAPPING);
    let Meta::List(list) = &attribute.meta else {
        return Err(no_method());
    };
    let (mut found_paths, mut found_method, mut found_body) = (None, None, None);
    list.parse_args_with(|input: ParseStream<'_>| {
        while !input.is_empty() {
            let no_key = |other: syn::Error| error(other.span(), "found no key", EXPECTED_MAPPING);
            let key: Ident = input.parse().map_err(no_key)?;
            let name = key.to_string();
            if name == "guard" || name == "after" {
                return Err(on_mapping(&key));
            }
            if !["path", "method", "body"].contains(&name.as_str()) {
                return Err(error(key.span(), &format!("unknown key `{name}`"), EXPECTED_MAPPING));
            }
            input.parse::<Token![=]>()?;
            let is_second = match name.as_str() {
                "path" => found_paths.replace(paths(input, EXPECTED_MAPPING)?).is_some(),
                "body" => found_body.replace(body(input)?).is_some(),
                _ => found_method.replace(method(&input.parse()?)?).is_some(),
            };
            if is_second {
                return Err(error(key.span(), &format!("`{key}` is given twice"), EXPECTED_MAPPING));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    })?;
    Ok((
        found_method.ok_or_else(no_method)?,
        found_paths.unwrap_or_default(),
        found_body,
    ))
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
        _ => Err(error(value.span(), "found no method", EXPECTED_MAPPING)),
    }
}

fn check_token(literal: &LitStr) -> syn::Result<()> {
    let token = literal.value();
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if token.is_empty() || !token.bytes().all(is_token) {
        let found = format!("`{token}` is not a valid method");
        return Err(error(literal.span(), &found, "expected an HTTP token such as `NOTIFY`"));
    }
    let upper = token.to_ascii_uppercase();
    if upper != token && METHODS.split(' ').any(|method| method == upper) {
        let found = format!("`{token}` is not the method `{upper}`: methods are case-sensitive");
        return Err(error(literal.span(), &found, &format!("expected `{upper}`")));
    }
    Ok(())
}

fn error(span: Span, found: &str, expected: &str) -> syn::Error {
    syn::Error::new(span, format_args!("{found}, {expected}"))
}
