//! Serve Pointwork on actix-web.
