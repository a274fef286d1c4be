//! The cases that every adapter has to pass.

mod closing;
mod exactness;
mod floods;
mod framing;
mod http2;
mod http2_ends;
mod http2_windows;
mod keep_alive;
mod limits;
mod malformed;
mod methods;
mod mounting;
mod paths;
mod replies;
pub(crate) mod requests;
mod serving;
mod smuggling;
mod streams;
mod timeouts;
mod versions;

use crate::Case;

/// All common cases.
pub fn all() -> Vec<Case> {
    let files = [
        closing::all,
        exactness::all,
        floods::all,
        framing::all,
        http2::all,
        http2_ends::all,
        http2_windows::all,
        keep_alive::all,
        limits::all,
        malformed::all,
        methods::all,
        mounting::all,
        paths::all,
        replies::all,
        requests::all,
        serving::all,
        smuggling::all,
        streams::all,
        timeouts::all,
        versions::all,
    ];
    files.into_iter().flat_map(|file| file()).collect()
}
