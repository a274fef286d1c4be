//! Channels: calls, emits, contexts handed over, and failures of each (spec C, E, H3, H6 to H8).
//!
//! Most cases run with the channel in each [`Flavor`] in turn.

mod bad_input;
mod calls;
mod chains;
mod crashes;
mod declarations;
mod emits;
mod failing;
mod hand_over;
mod lost;
mod pools;
mod removed;
mod rust;
mod swaps;
mod used;

use super::watch;
use crate::case::Case;
use crate::flavor::Flavor;
use crate::guest::{Channel, Controller, Guest, Program, ReplyBody};
use crate::subject::AppSpec;

/// The cases of all files of this folder.
pub(super) fn all() -> Vec<Case> {
    let files = [
        calls::all,
        chains::all,
        pools::all,
        emits::all,
        failing::all,
        hand_over::all,
        lost::all,
        removed::all,
        crashes::all,
        bad_input::all,
        declarations::all,
        swaps::all,
        used::all,
        rust::all,
    ];
    files.into_iter().flat_map(|file| file()).collect()
}

/// A module `caller` in that form, with one GET route.
fn routing(form: Flavor, path: &str, program: Program) -> AppSpec {
    let things = Controller::new("Things", "/").get(path, program);
    AppSpec::new().load("caller", form.form(Guest::with(things)).build())
}

/// An application whose `/it/:id` calls `event` with the id as a JSON text, and replies with the result.
fn calling(event: &str) -> AppSpec {
    calling_from(Flavor::Module, event)
}

/// The same with the caller in the given form.
fn calling_from(form: Flavor, event: &str) -> AppSpec {
    let program = Program::new().say("\"").param("id").say("\"").call(event);
    routing(form, "it/:id", program.replies(ReplyBody::Bytes))
}

/// An application whose `/it/:id` emits `event` with the id as a JSON text, and replies `emitted`.
fn emitting(event: &str) -> AppSpec {
    let program = Program::new().say("\"").param("id").say("\"").emit(event);
    routing(Flavor::Module, "it/:id", program.say("emitted"))
}

/// An application whose `/it/:id` hands its context over to `event`, with the id as a JSON text.
fn handing_over(form: Flavor, event: &str) -> AppSpec {
    let program = Program::new().say("\"").param("id").say("\"");
    routing(form, "it/:id", program.hands_over(event))
}

/// A listener that appends a word to its payload.
fn adds(word: &str) -> Program {
    Program::new().say(" ").say(word)
}

/// A channel with one listener that appends a word to its payload.
fn adding(channel: &str, event: &str, word: &str) -> Channel {
    Channel::new(channel).on(event, adds(word))
}
