//! `#[guard]` and `#[after]` on an impl block.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{ImplItem, ImplItemFn, Item, ItemImpl, ReturnType, Type, parse_quote};

use crate::block::{check, keep_name};
use crate::errors::{self, Errors};
use crate::events_used::events_used;
use crate::expand::{
    Names, Read, call, check_constraints, is_blocking, is_kind, ready_async, replaced, type_name, without_self,
};
use crate::signature::{Signature, Terms, find};

/// A guard or an after-hook.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Guard,
    After,
}

impl Kind {
    /// The name of the attribute, which is also the key of the metadata.
    fn attribute(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::After => "after",
        }
    }

    /// The name of the function.
    fn function(self) -> &'static str {
        match self {
            Self::Guard => "check",
            Self::After => "after",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Guard => "#[guard] impl SignedIn { fn check(ctx: &Context) -> Result<User, Failure> { … } }",
            Self::After => "#[after] impl NoStore { fn after(outcome: Outcome) -> Outcome { … } }",
        }
    }

    fn terms(self) -> Terms {
        Terms {
            block: self.attribute(),
            block_example: self.example(),
            function: match self {
                Self::Guard => "guard",
                Self::After => "after-hook",
            },
            function_example: "",
            state: "call a channel that keeps it",
            may_have_form: true,
        }
    }
}

/// Expands the attribute of the block.
pub(crate) fn expand(kind: Kind, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let (attribute, example) = (kind.attribute(), kind.example());
    let mut block = match syn::parse2(item.clone()) {
        Ok(Item::Impl(block)) => block,
        Ok(Item::Fn(_)) => {
            let message = format!(
                "`#[{attribute}]` is outside an impl block with `#[controller]`, expected it on a handler, or on an impl \
                 block: `{example}`"
            );
            return errors::beside(item, &message);
        }
        Ok(_) => {
            return errors::beside(
                item,
                &format!("`#[{attribute}]` is not on an impl block, expected `{example}`"),
            );
        }
        // The compiler has the better words for code that is no Rust.
        Err(_) => return item,
    };
    let mut errors = Errors::default();
    if !arguments.is_empty() {
        errors.at(
            &arguments,
            format_args!(
                "`#[{attribute}]` of an impl block has no arguments, expected `{example}`; a controller names those of its handlers: \
                 `#[controller(\"orders\", {attribute} = …)]`"
            ),
        );
    }
    check(&block, &kind.terms(), &mut errors);
    let is_named = |item: &&mut ImplItem| matches!(item, ImplItem::Fn(item) if item.sig.ident == kind.function());
    let read = match block.items.iter_mut().find(is_named) {
        Some(ImplItem::Fn(function)) => {
            if kind == Kind::Guard {
                deny_unused(function);
            }
            keep_name(function);
            Some(GuardFunction::new(kind, function, &mut errors))
        }
        _ if !errors.is_empty() => None,
        _ => {
            let message = format!(
                "this {attribute} has no function `{}`, expected `{example}`",
                kind.function()
            );
            errors.at(&block.self_ty, message);
            None
        }
    };
    let expanded = match read {
        Some(read) if errors.is_empty() => read.expand(kind, &block),
        _ => {
            let (errors, stub) = (errors.into_tokens(), stub(kind, &block));
            quote!(#errors #stub)
        }
    };
    quote!(#block #expanded)
}

/// Refuses a guard that drops a future or a `Result`, as a forgotten `.await?` does: the guard would let every request pass. An
/// `allow` of the author comes after the attribute and wins.
fn deny_unused(function: &mut ImplItemFn) {
    function.attrs.insert(
        0,
        parse_quote!(#[deny(unused_must_use, reason = "a guard that drops a future or a `Result` lets every request pass")]),
    );
}

/// The name of a type in the source, with the arguments of a generic type.
fn full_name(ty: &Type) -> String {
    match ty {
        Type::Path(path) => path.path.segments.last().to_token_stream().to_string().replace(' ', ""),
        other => type_name(other),
    }
}

/// Whether a return type is certainly not a `Result`, which the compiler would say once for each use. A name may be an alias of
/// one.
fn is_no_result(output: &ReturnType) -> bool {
    const OTHERS: [&str; 9] = [
        "bool",
        "Failure",
        "HttpStatus",
        "Json",
        "Option",
        "Outcome",
        "Redirect",
        "Reply",
        "String",
    ];
    match output {
        ReturnType::Default => true,
        ReturnType::Type(_, ty) => match &**ty {
            Type::Path(path) => {
                let last = path.path.segments.last();
                last.is_some_and(|last| OTHERS.iter().any(|name| last.ident == name))
            }
            ty => matches!(ty, Type::Array(_) | Type::Reference(_) | Type::Tuple(_)),
        },
    }
}

/// Whether a return type is a future by its name, or has no name, which only a future needs. `check_value` sees the others.
fn is_future(output: &ReturnType) -> bool {
    const FUTURES: [&str; 3] = ["Pin", "BoxFuture", "LocalBoxFuture"];
    let ReturnType::Type(_, ty) = output else { return false };
    let is_named = match &**ty {
        Type::Path(path) => {
            let last = path.path.segments.last();
            last.is_some_and(|last| FUTURES.iter().any(|name| last.ident == name))
        }
        _ => false,
    };
    is_named || find(ty.to_token_stream(), "impl").is_some()
}

/// How a guard runs before a handler, in both forms.
fn passes() -> TokenStream {
    quote! {
        fn pass(
            context: &::pointwork_guest::Context,
        ) -> ::core::result::Result<(), ::pointwork_guest::Failure> {
            ::pointwork_guest::__private::guard_now::<Self>(context)
        }

        async fn pass_async(
            context: &::pointwork_guest::AsyncContext,
        ) -> ::core::result::Result<(), ::pointwork_guest::Failure> {
            ::pointwork_guest::__private::guard::<::pointwork_guest::form::Async, Self>(context).await
        }
    }
}

/// An impl beside an error: what uses the type has no second error.
fn stub(kind: Kind, block: &ItemImpl) -> TokenStream {
    let ty = &block.self_ty;
    let (parameters, _, bounds) = block.generics.split_for_impl();
    let attribute = kind.attribute();
    let declared = declared(attribute, "", &quote!(false), &quote!(false), &quote!(&[]));
    let passes = passes();
    match kind {
        Kind::Guard => quote! {
            impl #parameters ::pointwork_guest::Guard for #ty #bounds {
                #passes

                type Value = ();
                const DECLARED: ::pointwork_guest::__private::DeclaredGuard = #declared;
                fn run(_: &::pointwork_guest::Context) -> ::core::result::Result<(), ::pointwork_guest::Failure> {
                    ::core::result::Result::Ok(())
                }
                async fn run_async(
                    _: &::pointwork_guest::AsyncContext,
                ) -> ::core::result::Result<(), ::pointwork_guest::Failure> {
                    ::core::result::Result::Ok(())
                }
            }
        },
        Kind::After => quote! {
            impl #parameters ::pointwork_guest::AfterHook for #ty #bounds {
                const DECLARED: ::pointwork_guest::__private::DeclaredGuard = #declared;
                const TAKES_CONTEXT: bool = false;
                fn run(
                    _: ::core::option::Option<&::pointwork_guest::Context>,
                    outcome: ::pointwork_guest::Outcome,
                ) -> ::pointwork_guest::Outcome {
                    outcome
                }
                async fn run_async(
                    _: ::core::option::Option<&::pointwork_guest::AsyncContext>,
                    outcome: ::pointwork_guest::Outcome,
                ) -> ::pointwork_guest::Outcome {
                    outcome
                }
            }
        },
    }
}

fn declared(key: &str, name: &str, blocks: &TokenStream, waits: &TokenStream, events: &TokenStream) -> TokenStream {
    quote! {
        ::pointwork_guest::__private::DeclaredGuard {
            key: #key,
            name: #name,
            path: ::core::concat!(::core::module_path!(), "::", #name),
            is_listed: true,
            blocks: #blocks,
            waits: #waits,
            events_used: #events,
        }
    }
}

/// The function of the block.
struct GuardFunction {
    signature: Signature,
    /// Whether a hook takes the outcome by reference.
    is_observer: bool,
}

impl GuardFunction {
    fn new(kind: Kind, function: &ImplItemFn, errors: &mut Errors) -> Self {
        let mut signature = Signature::read(function, &kind.terms(), errors);
        let is_observer = kind == Kind::After
            && match signature.arguments.pop() {
                Some(outcome) => outcome.is_reference,
                None => {
                    errors.at(
                        &function.sig.ident,
                        "an after-hook takes the outcome as its last argument, expected `outcome: Outcome`, or `&Outcome` to \
                         see it only",
                    );
                    false
                }
            };
        if kind == Kind::Guard && is_future(&function.sig.output) {
            errors.at(
                &function.sig.output,
                "a guard returns a future that nothing awaits, expected `async fn check(…) -> Result<_, Failure>`, which is awaited",
            );
        } else if kind == Kind::Guard && is_no_result(&function.sig.output) {
            let message =
                "a guard returns `Result<_, Failure>`: every value lets the request pass, and the failure is the reply";
            match &function.sig.output {
                ReturnType::Default => errors.at(&function.sig.ident, message),
                ReturnType::Type(_, ty) => errors.at(ty, message),
            }
        }
        Self { signature, is_observer }
    }

    fn expand(&self, kind: Kind, block: &ItemImpl) -> TokenStream {
        let ty = &*block.self_ty;
        let is_generic = self.signature.form_parameter.is_some();
        let is_async = !is_generic && (self.signature.is_async || self.signature.takes_async);
        let (blocking, asynchronous) = (
            quote!(::pointwork_guest::form::Blocking),
            quote!(::pointwork_guest::form::Async),
        );
        let form = if is_async { &asynchronous } else { &blocking };
        let declared = self.declared(kind, block, form, is_async);
        let run = if is_async {
            quote!(::core::unreachable!("it has the asynchronous form only"))
        } else {
            self.run(kind, &blocking, Read::Blocking)
        };
        let reads = if is_async || is_generic {
            Read::Async
        } else {
            Read::Either
        };
        let run_async = self.run(kind, if is_generic { &asynchronous } else { form }, reads);
        let checks = self.checks(kind, ty, form);
        match kind {
            Kind::Guard => {
                let common = self.common(&blocking);
                quote! {
                    #[automatically_derived]
                    impl ::pointwork_guest::Guard for #ty {
                        #common
                        const DECLARED: ::pointwork_guest::__private::DeclaredGuard = #declared;

                        #[allow(unused_variables, reason = "a guard may have one of the two forms")]
                        fn run(
                            context: &::pointwork_guest::Context,
                        ) -> ::core::result::Result<Self::Value, ::pointwork_guest::Failure> {
                            #run
                        }

                        #[allow(unused_variables, reason = "a guard need not have arguments")]
                        async fn run_async(
                            context: &::pointwork_guest::AsyncContext,
                        ) -> ::core::result::Result<Self::Value, ::pointwork_guest::Failure> {
                            #run_async
                        }
                    }

                    #checks
                }
            }
            Kind::After => {
                let takes_context = !self.signature.arguments.is_empty();
                quote! {
                    #[automatically_derived]
                    impl ::pointwork_guest::AfterHook for #ty {
                        const DECLARED: ::pointwork_guest::__private::DeclaredGuard = #declared;
                        const TAKES_CONTEXT: bool = #takes_context;

                        #[allow(unused_variables, reason = "a hook may have one of the two forms")]
                        fn run(
                            context: ::core::option::Option<&::pointwork_guest::Context>,
                            outcome: ::pointwork_guest::Outcome,
                        ) -> ::pointwork_guest::Outcome {
                            #run
                        }

                        #[allow(unused_variables, reason = "a hook need not have arguments")]
                        async fn run_async(
                            context: ::core::option::Option<&::pointwork_guest::AsyncContext>,
                            outcome: ::pointwork_guest::Outcome,
                        ) -> ::pointwork_guest::Outcome {
                            #run_async
                        }
                    }

                    #checks
                }
            }
        }
    }

    /// The items of the impl that both forms have.
    fn common(&self, blocking: &TokenStream) -> TokenStream {
        let output = self.of_form(self.signature.returned.clone(), blocking);
        let (value, passes) = (
            quote_spanned!(self.signature.output=> <#output as ::pointwork_guest::__private::GuardResult>::Value),
            passes(),
        );
        quote! {
            type Value = #value;
            #passes
        }
    }

    /// Replaces the type parameter of the form.
    fn of_form(&self, tokens: TokenStream, form: &TokenStream) -> TokenStream {
        match &self.signature.form_parameter {
            Some(parameter) => replaced(tokens, &parameter.to_string(), form),
            None => tokens,
        }
    }

    fn names(&self, kind: Kind, form: &TokenStream) -> Names {
        Names {
            argument: quote!(::pointwork_guest::__private::HandlerArgument),
            source: quote!(::core::option::Option::None::<::pointwork_guest::Context<#form>>),
            lent: Some(quote!(::core::option::Option::Some(context.of_form::<#form>()))),
            last: (kind == Kind::After).then(|| {
                if self.is_observer {
                    quote!(&outcome)
                } else {
                    quote!(outcome)
                }
            }),
            fail: match kind {
                Kind::Guard => quote!(return ::core::result::Result::Err(error)),
                Kind::After => quote!(return ::pointwork_guest::Outcome::Thrown(error)),
            },
        }
    }

    /// The signature with the types of one form.
    fn signature_of(&self, form: &TokenStream) -> Signature {
        let mut signature = self.signature.clone();
        for argument in &mut signature.arguments {
            let ty = self.of_form(argument.ty.to_token_stream(), form);
            argument.ty = Type::Verbatim(ty);
        }
        signature
    }

    /// Read the arguments and calls the function.
    fn run(&self, kind: Kind, form: &TokenStream, reads: Read) -> TokenStream {
        let private = quote!(::pointwork_guest::__private);
        let names = self.names(kind, form);
        let signature = self.signature_of(form);
        // In the synchronous form, what the function awaits is done when it is polled.
        let is_polled = matches!(reads, Read::Blocking) && signature.is_async;
        let call = call(&signature, form, &names, |argument| {
            let (ty, name) = (&argument.ty, &argument.name);
            let ready = names.item(ty, form, "ready", Some(quote!(context, #name)));
            match reads {
                Read::Blocking if !is_polled => quote_spanned!(ty.span()=> #private::now(#ready)),
                Read::Blocking | Read::Async => quote_spanned!(ty.span()=> #ready.await),
                Read::Either => ready_async(ty, name, form, &names, &quote!(context)),
            }
        });
        let result = match kind {
            Kind::Guard => quote_spanned!(signature.output=> #private::GuardResult::into_result(value)),
            Kind::After if self.is_observer => quote_spanned!(signature.output=> { let () = value; outcome }),
            Kind::After => quote_spanned!(signature.output=> ::pointwork_guest::IntoOutcome::into_outcome(value)),
        };
        let body = match (is_polled, kind) {
            (false, _) => quote!(#call #result),
            (true, Kind::Guard) => quote!(#private::now(async move { #call #result })),
            (true, Kind::After) => quote!(#private::outcome_now(async move { #call #result })),
        };
        if kind == Kind::Guard || signature.arguments.is_empty() {
            return body;
        }
        quote! {
            let ::core::option::Option::Some(context) = context else { return outcome };
            #body
        }
    }

    /// The declaration, as a constant expression.
    fn declared(&self, kind: Kind, block: &ItemImpl, form: &TokenStream, is_async: bool) -> TokenStream {
        let ty = &*block.self_ty;
        let names = self.names(kind, form);
        let own = events_used(block);
        let arguments: Vec<_> = self
            .signature_of(form)
            .arguments
            .iter()
            .map(|argument| without_self(argument.ty.to_token_stream(), ty))
            .collect();
        let needed = arguments
            .iter()
            .map(|argument| names.item(argument, form, "GUARD", None));
        let is_plain = !is_async && self.signature.form_parameter.is_none();
        let blocking = arguments
            .iter()
            .filter(|_| is_plain)
            .map(|argument| is_blocking(argument, form, &names));
        let declared = declared(
            kind.attribute(),
            &full_name(ty),
            &quote!(first_unfit(NEEDED, true).is_some() #(|| #blocking)*),
            &quote!(first_unfit(NEEDED, false).is_some() || #is_async),
            &quote!(&EVENTS),
        );
        quote! {{
            #[allow(unused_imports, reason = "an argument may have the asynchronous form")]
            use ::pointwork_guest::__private::{Needed, NotAsync as _, events, events_length, first_unfit};

            const NEEDED: &[Needed] = &[#(#needed),*];
            const OWN: &[::core::option::Option<&'static str>] = #own;
            const EVENTS: [::core::option::Option<&'static str>; events_length(OWN, NEEDED)] = events(OWN, NEEDED);
            #declared
        }}
    }

    /// Constants that fail to compile: arguments that a guard or hook cannot have.
    fn checks(&self, kind: Kind, ty: &Type, form: &TokenStream) -> TokenStream {
        let names = self.names(kind, form);
        let function = format!("{} `{}`", kind.terms().function, type_name(ty));
        let checks = self.signature_of(form).arguments.into_iter().map(|argument| {
            let is_body = is_kind(ty, &argument, form, &names, "Body");
            let message = format!(
                "{function} takes the body, expected no argument for it: guards run before the body is read, and hooks after"
            );
            let constraints = check_constraints(ty, &argument, "IS_UNCHECKED", &function);
            let body = quote_spanned! {argument.ty.span()=>
                const _: () = ::core::assert!(!#is_body, #message);
                #constraints
            };
            if argument.is_reference {
                return body;
            }
            let is_context = is_kind(ty, &argument, form, &names, "Context");
            let message = format!("{function} takes the context by value, expected a reference: the handler may need it");
            quote_spanned! {argument.ty.span()=>
                #body
                const _: () = ::core::assert!(!#is_context, #message);
            }
        });
        let mut checks: TokenStream = checks.collect();
        if kind == Kind::Guard && !self.signature.has_unnamed_output {
            checks.extend(self.check_value(ty, form, &function));
        }
        checks
    }

    /// A constant that fails to compile if the value of a guard may mean that it refuses the request, since `Ok(false)` and
    /// `Ok(None)` let the request pass.
    fn check_value(&self, ty: &Type, form: &TokenStream, function: &str) -> TokenStream {
        let output = self.of_form(without_self(self.signature.returned.clone(), ty), form);
        let function = format!("{function} gives ");
        quote_spanned! {self.signature.output=>
            const _: () = {
                #[allow(unused_imports, reason = "the value may be one that refuses")]
                use ::pointwork_guest::__private::{NeverRefuses as _, Returned, joined, length, text};

                type Value = Returned<<#output as ::pointwork_guest::__private::GuardResult>::Value>;
                const VALUE: &str = if Value::IS_FUTURE { "a future, which nothing awaits" } else { Value::MAY_REFUSE };
                const PARTS: &[&str] = &[
                    #function,
                    VALUE,
                    ", and every value lets the request pass; expected `Result<_, Failure>` with an error that refuses the request, \
                     such as `Err(HttpStatus::FORBIDDEN.into())`, `user.ok_or(HttpStatus::UNAUTHORIZED)?` or `check.await?`",
                ];
                const MESSAGE: [u8; length(PARTS)] = joined(PARTS);
                ::core::assert!(VALUE.is_empty(), "{}", text(&MESSAGE));
            };
        }
    }
}
