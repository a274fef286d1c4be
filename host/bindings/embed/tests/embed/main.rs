//! The core of the bindings, without another language. Every function of "the host's language" in these tests checks that
//! it runs on the stack of its thread, by the address of a variable of its own.

mod answers;
mod bodies;
mod ends;
mod stack;
mod threads;
mod world;
