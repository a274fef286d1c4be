//! The channel `response`

use catalogue::events::Send;
use pointwork_guest::{AsyncContext, Failure, channel};

/// Replies instead of controllers.
pub struct Response;

#[channel("response")]
impl Response {
    #[on(Send)]
    fn send(context: AsyncContext, text: String) -> Result<(), Failure> {
        context.send(text)
    }
}
