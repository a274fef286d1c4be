//! Multipart bodies as arguments of handlers: the handler reads them, so they are opened and not read before.

use super::ArgumentKind;
use super::handler_argument::{HandlerArgument, no_body};
use crate::context::Context;
use crate::failure::Failure;
use crate::form::Async;
use crate::multipart::Multipart;
use crate::request::Request;
use crate::stream::Streaming;

#[derive(Debug)]
pub enum ByMultipart {}

macro_rules! multipart {
    ($ty:ty: $open:expr) => {
        impl<F: Streaming> HandlerArgument<F, ByMultipart> for $ty {
            const KIND: ArgumentKind = ArgumentKind::Body;
            const READS_BODY: bool = true;
            no_body!();
            is_ready!(Context<F>);

            fn read(request: &Request, (): (), _argument: &'static str) -> Result<Self, Failure> {
                $open(request)
            }
        }
    };
}

multipart! { Multipart<F>: Multipart::open }
multipart! { Option<Multipart<F>>: Multipart::open_optional }
multipart! { Result<Multipart<F>, Failure>: |request| Ok(Multipart::open(request)) }
