//! Serve Pointwork on salvo.
