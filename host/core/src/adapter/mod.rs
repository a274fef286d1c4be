//! The seam between the core and an adapter, and what the adapters share.

mod accept;
pub(crate) mod application;
mod body_pump;
mod deadlines;
mod framing;
mod handle;
pub(crate) mod server_options;
pub(crate) mod serving;
mod state;
pub(crate) mod transport;

pub use accept::AcceptLoop;
pub use body_pump::BodyPump;
pub use deadlines::{Deadlines, Timer};
pub use framing::Framing;
pub use state::{AdapterState, CUT_TIME, Place, Published, empty_refusal};
