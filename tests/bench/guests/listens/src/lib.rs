//! Listeners in a module of the synchronous form.

use pointwork_guest::{channel, module};

/// The channel.
pub struct Sandboxed;

#[channel("sandboxed")]
impl Sandboxed {
    /// Does nothing: a call costs only the way into the sandbox and back.
    #[on("empty")]
    fn empty() {}

    /// Returns its argument.
    #[on("echo")]
    fn echo(text: String) -> String {
        text
    }

    /// Receives an event and does nothing.
    #[on("heard")]
    fn heard(_text: String) {}
}

module! { channels: Sandboxed }
