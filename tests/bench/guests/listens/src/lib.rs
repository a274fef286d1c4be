//! Listeners in a module of the synchronous form.

use pointwork_guest::{channel, module};

/// The channel.
pub struct Sandboxed;

#[channel("sandboxed")]
impl Sandboxed {
    /// Does nothing: what a call of it costs is the way there and back.
    #[on("empty")]
    fn empty() {}

    /// Returns what it is given.
    #[on("echo")]
    fn echo(text: String) -> String {
        text
    }

    /// Is heard, and that is all.
    #[on("heard")]
    fn heard(_text: String) {}
}

module! { channels: Sandboxed }
