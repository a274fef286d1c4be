//! Serve Pointwork on trillium.
