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
            import pointwork:module/context-sync@0.2.0;
            import pointwork:module/context-async@0.2.0;
            import pointwork:module/environment@0.2.0;
            import pointwork:module/events@0.2.0;
            import pointwork:module/events-sync@0.2.0;
            import pointwork:module/events-async@0.2.0;
            import pointwork:module/log@0.2.0;
            export pointwork:module/manifest@0.2.0;
        }
    ",
    imports: {
        "pointwork:module/context.[method]context.open-body": async | trappable,
        "pointwork:module/context.[method]context.open-reply": async | trappable,
        "pointwork:module/context-sync.body": async | trappable,
        "pointwork:module/context-sync.text": async | trappable,
        "pointwork:module/context-sync.call": async | trappable,
        "pointwork:module/context-sync.read": async | trappable,
        "pointwork:module/context-sync.write": async | trappable,
        "pointwork:module/context-sync.finish": async | trappable,
        "pointwork:module/events-sync.call": async | trappable,
        "pointwork:module/context.hand-over": store | trappable,
        "pointwork:module/context.[method]context.emit": store | trappable,
        "pointwork:module/events.[method]delivery.emit": store | trappable,
        "pointwork:module/environment.now": store | trappable,
        "pointwork:module/environment.monotonic": store | trappable,
        "pointwork:module/log.write": store | trappable,
        "pointwork:module/log.print": store | trappable,
        "pointwork:module/log.panicked": store | trappable,
        "pointwork:module/log.raised": store | trappable,
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
pub(crate) use self::pointwork::module::{
    context, context_async, context_sync, environment, events, events_async, events_sync, log, types,
};
