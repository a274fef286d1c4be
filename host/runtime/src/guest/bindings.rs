//! The contract as the host sees it, generated from `wit/`.

#![allow(
    missing_docs,
    unreachable_pub,
    reason = "generated; the WIT files carry the documentation"
)]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "full-module-async",
    imports: {
        "pointwork:module/context.[method]context.body": async | trappable,
        "pointwork:module/context.[method]context.call": async | trappable,
        "pointwork:module/context.[method]body-reader.read": async | trappable,
        "pointwork:module/context.[method]body-writer.write": async | trappable,
        "pointwork:module/context.[method]body-writer.finish": async | trappable,
        "pointwork:module/events.[method]delivery.call": async | trappable,
        default: trappable,
    },
    with: {
        "pointwork:module/context.context": pointwork_core::Context,
        "pointwork:module/context.body-reader": crate::guest::Reader,
        "pointwork:module/context.body-writer": crate::guest::Writer,
        "pointwork:module/events.delivery": pointwork_core::Delivery,
    },
});

pub(crate) use self::pointwork::module::{context, context_async, events, events_async, log, types};
