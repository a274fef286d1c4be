//! The cases that every adapter has to pass.

mod closing;
mod exactness;
mod framing;
mod http2;
mod http2_ends;
mod keep_alive;
mod limits;
mod malformed;
mod methods;
mod paths;
mod replies;
mod serving;
mod streams;
mod timeouts;
mod versions;

use crate::{Case, Http2, Subject};

/// All common cases. Those of HTTP/2 are only for who has it; another case asserts that nobody else speaks it.
pub fn all<S: Subject>() -> Vec<Case> {
    let mut files = vec![
        closing::all::<S>(),
        exactness::all::<S>(),
        framing::all::<S>(),
        keep_alive::all::<S>(),
        limits::all::<S>(),
        malformed::all::<S>(),
        methods::all::<S>(),
        paths::all::<S>(),
        replies::all::<S>(),
        serving::all::<S>(),
        streams::all::<S>(),
        timeouts::all::<S>(),
        versions::all::<S>(),
    ];
    if S::DIFFERENCES.http2 != Http2::Never {
        files.extend([http2::all::<S>(), http2_ends::all::<S>()]);
    }
    files.into_iter().flatten().collect()
}
