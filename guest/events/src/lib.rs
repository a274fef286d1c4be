//! Typed events, shared by guests and hosts.
