//! Serve Pointwork on axum.
