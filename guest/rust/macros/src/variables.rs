//! `#[derive(Variables)]`: the variables of a module as the fields of a struct.

use std::mem::replace;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Expr, Field, Fields, LitStr, Type};

use crate::errors::Errors;
use crate::metadata::Metadata;

/// A variable: a field of the struct.
struct Variable<'a> {
    field: &'a Ident,
    ty: &'a Type,
    name: LitStr,
    default: Default,
    description: String,
}

/// The value of a variable that is missing.
enum Default {
    /// The default of the type: `None` for an `Option`, otherwise an error.
    OfType,
    /// Its `Default`.
    Implemented,
    Value(Expr),
}

pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    if let Some(parameter) = input.generics.params.first() {
        errors.at(
            parameter,
            "the struct of variables is generic, expected a concrete type",
        );
    }
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Some(&fields.named),
            _ => None,
        },
        _ => None,
    };
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else {
        let message =
            "expected a struct with a named field for each variable, such as `struct Settings { token: String }`";
        errors.at(&input.ident, message);
        return errors.into_tokens();
    };
    let mut variables: Vec<Variable<'_>> = Vec::new();
    for field in fields {
        let Some(variable) = read(field, &mut errors) else {
            continue;
        };
        if let Some(first) = variables
            .iter()
            .find(|other| other.name.value() == variable.name.value())
        {
            let message = format!(
                "the variable `{}` is that of the field `{}` already; name another one: `#[variable(name = \"…\")]`",
                variable.name.value(),
                first.field
            );
            errors.at(field, message);
        }
        variables.push(variable);
    }
    if errors.is_empty() {
        expand(&input.ident, &variables)
    } else {
        errors.into_tokens()
    }
}

fn read<'a>(field: &'a Field, errors: &mut Errors) -> Option<Variable<'a>> {
    let ident = field.ident.as_ref()?;
    let mut name = LitStr::new(&ident.unraw().to_string().to_uppercase(), ident.span());
    let mut default = Default::OfType;
    let mut is_named = false;
    for attribute in field
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("variable"))
    {
        let read = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                if replace(&mut is_named, true) {
                    return Err(meta.error("`name` is given twice, expected one name"));
                }
                name = meta.value()?.parse()?;
                return Ok(());
            }
            if !meta.path.is_ident("default") {
                return Err(meta.error("expected `name = \"…\"`, `default` or `default = …`"));
            }
            if !matches!(default, Default::OfType) {
                return Err(meta.error("`default` is given twice, expected one default"));
            }
            default = if meta.input.peek(syn::Token![=]) {
                Default::Value(meta.value()?.parse()?)
            } else {
                Default::Implemented
            };
            Ok(())
        });
        errors.keep(read);
    }
    let text = name.value();
    // As the host has it; what JSON escapes is left out as well.
    if text.is_empty() || text.len() > 255 || text.contains(|c: char| matches!(c, '=' | '"' | '\\') || c.is_control()) {
        let message = format!(
            "`{}` is not the name of a variable, expected 1 to 255 bytes without `=`, quotes, backslashes and control characters",
            text.escape_debug()
        );
        errors.at(&name, message);
    }
    Some(Variable {
        field: ident,
        ty: &field.ty,
        name,
        default,
        description: json(&Metadata::read(&field.attrs).text()),
    })
}

fn expand(ident: &Ident, variables: &[Variable<'_>]) -> TokenStream {
    let needed = variables.iter().map(|variable| {
        let Variable {
            ty, name, description, ..
        } = variable;
        let of_type = quote::quote_spanned!(ty.span()=> <#ty as ::pointwork_guest::Variable>);
        let is_required = match variable.default {
            Default::OfType => quote!(#of_type::IS_REQUIRED),
            Default::Implemented | Default::Value(_) => quote!(false),
        };
        quote! {
            ::pointwork_guest::__private::NeededVariable {
                name: #name,
                is_required: #is_required,
                schema: #of_type::SCHEMA,
                description: #description,
            }
        }
    });
    let fields = variables.iter().map(|variable| {
        let Variable {
            field,
            ty,
            name,
            default,
            ..
        } = variable;
        match default {
            Default::OfType => quote!(#field: given.get::<#ty>(#name)?),
            Default::Implemented => quote! {
                #field: given.get_or::<#ty>(#name, <#ty as ::core::default::Default>::default)?
            },
            Default::Value(Expr::Lit(literal)) if matches!(literal.lit, syn::Lit::Str(_)) => quote! {
                #field: given.get_or::<#ty>(#name, || ::core::convert::From::from(#literal))?
            },
            Default::Value(value) => quote!(#field: given.get_or::<#ty>(#name, || #value)?),
        }
    });
    quote! {
        impl ::pointwork_guest::Variables for #ident {
            const NEEDED: &'static [::pointwork_guest::__private::NeededVariable] = &[#(#needed),*];

            fn read() -> ::core::result::Result<Self, ::pointwork_guest::Failure> {
                let given = ::pointwork_guest::__private::GivenVariables::read();
                ::core::result::Result::Ok(Self { #(#fields),* })
            }
        }

        impl ::pointwork_guest::FromRequest for #ident {
            fn from_request(
                _request: &::pointwork_guest::Request,
                _argument: &'static str,
            ) -> ::core::result::Result<Self, ::pointwork_guest::Failure> {
                <Self as ::pointwork_guest::Variables>::read()
            }
        }
    }
}

/// The text as a string of JSON; empty if it is.
fn json(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut json = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            control if control < ' ' => json.push_str(&format!("\\u{:04x}", u32::from(control))),
            character => json.push(character),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn docs_are_a_string_of_json() {
        assert_eq!(json(""), "");
        assert_eq!(json("a \"b\" \\ c\nd"), "\"a \\\"b\\\" \\\\ c\\u000ad\"");
    }
}
