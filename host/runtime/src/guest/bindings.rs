//! The contract as the host sees it, generated from `wit/`.

#![allow(
    missing_docs,
    unreachable_pub,
    reason = "generated; the WIT files carry the documentation"
)]

// One world with the imports of both forms, so that nothing is generated twice. Handlers and listeners are called by the
// index of their export.
wasmtime::component::bindgen!({
    path: "wit",
    inline: "
        package pointwork:host;
        world host {
            import pointwork:module/context@0.2.0;
            import pointwork:module/context-async@0.2.0;
            import pointwork:module/events@0.2.0;
            import pointwork:module/events-async@0.2.0;
            import pointwork:module/log@0.2.0;
            export pointwork:module/manifest@0.2.0;
        }
    ",
    imports: {
        "pointwork:module/context.[method]context.body": async | trappable,
        "pointwork:module/context.[method]context.text": async | trappable,
        "pointwork:module/context.[method]context.open-body": async | trappable,
        "pointwork:module/context.[method]context.open-reply": async | trappable,
        "pointwork:module/context.[method]context.call": async | trappable,
        "pointwork:module/context.[method]body-reader.read": async | trappable,
        "pointwork:module/context.[method]body-writer.write": async | trappable,
        "pointwork:module/context.[method]body-writer.finish": async | trappable,
        "pointwork:module/events.[method]delivery.call": async | trappable,
        "pointwork:module/context.hand-over": store | trappable,
        "pointwork:module/context.[method]context.emit": store | trappable,
        "pointwork:module/events.[method]delivery.emit": store | trappable,
        "pointwork:module/log.write": store | trappable,
        default: trappable,
    },
    with: {
        "pointwork:module/context.context": pointwork_core::Context,
        "pointwork:module/context.body-reader": crate::guest::body::Reader,
        "pointwork:module/context.body-writer": crate::guest::body::Writer,
        "pointwork:module/events.delivery": pointwork_core::Delivery,
    },
    additional_derives: [PartialEq, serde::Serialize],
});

pub(crate) use self::exports::pointwork::module::manifest;
pub(crate) use self::pointwork::module::{context, context_async, events, events_async, log, types};
