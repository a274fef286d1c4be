"""The guests of the suite that are written with the Rust SDK, in Python."""
