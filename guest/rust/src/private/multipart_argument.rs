//! Multipart bodies as arguments of handlers: the handler reads them, so they are opened and not read before.

use std::future::ready;

use super::ArgumentKind;
use super::handler_argument::{HandlerArgument, is_complete};
use crate::context::Context;
use crate::failure::Failure;
use crate::form::ModuleForm;
use crate::multipart::Multipart;

#[derive(Debug)]
pub enum ByMultipart {}

macro_rules! multipart {
    ($ty:ty: $open:expr) => {
        #[diagnostic::do_not_recommend]
        impl<F: ModuleForm> HandlerArgument<F, ByMultipart> for $ty {
            const KIND: ArgumentKind = ArgumentKind::Body;
            const HAS_FORM: bool = true;
            is_complete!();

            fn ready(context: &Context<F>, _argument: &'static str) -> impl Future<Output = Result<Self, Failure>> {
                ready($open(context))
            }
        }
    };
}

multipart! { Multipart<F>: Multipart::open }
multipart! { Option<Multipart<F>>: Multipart::open_optional }
multipart! { Result<Multipart<F>, Failure>: |context| Ok(Multipart::open(context)) }
