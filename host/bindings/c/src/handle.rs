//! Has requests answered: in process, and in a server of the program.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use pointwork_embed::{Ended, Host, InFlight, Mount, Place, Progress};

use crate::app::PwApp;
use crate::bytes::{PwText, User, given, optional_text, output};
use crate::error::{PwError, guard, guard_or, guard_value};
use crate::reply::PwReply;
use crate::request_builder::PwRequestBuilder;
use crate::waiting::{at_most, in_time};

/// The application within a server of the program.
#[derive(Debug)]
pub struct PwMount {
    mount: Mount,
    host: Host,
}

/// The requests that are a mount's.
pub type PwPlace = i32;

/// All.
pub const PW_PLACE_EVERYTHING: PwPlace = 0;

/// Those that a route matches by path and method; the others are left to the server's own routes.
pub const PW_PLACE_IN_FRONT: PwPlace = 1;

/// All below a prefix.
pub const PW_PLACE_BELOW: PwPlace = 2;

/// A request without a reply so far.
#[derive(Debug)]
pub struct PwInFlight(InFlight);

/// Gets the reply to a request, which is taken over: free it with pw_reply_free. NULL: it was cancelled. It is called
/// exactly once, on any thread.
pub type PwOnReply = Option<extern "C" fn(user: *mut c_void, reply: Option<Box<PwReply>>)>;

/// Answers a request in process, without a mount; the request is taken over. The calling thread waits. Free *reply with
/// pw_reply_free. A request that takes longer than `timeout_ms`, 0 for no limit, is cancelled: PW_ERROR_KIND_TIMED_OUT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_handle(
    app: Option<&PwApp>,
    builder: Option<Box<PwRequestBuilder>>,
    timeout_ms: u64,
    reply: Option<&mut MaybeUninit<Option<Box<PwReply>>>>,
) -> Option<Box<PwError>> {
    guard_value(reply, "reply", || {
        let host = &given(app, "app")?.host;
        let request = given(builder, "builder")?.into_request(host);
        let answered = in_time(host.handle_blocking(request, at_most(timeout_ms))?, timeout_ms)?;
        Ok(Some(PwReply::got(answered, host)))
    })
}

/// As pw_app_handle, without waiting: the request is begun on the calling thread. If its reply is there at once, *reply
/// is the reply, *in_flight is NULL, and `done` is not called. Otherwise *reply is NULL, `done` gets the reply, and
/// *in_flight is to be freed with pw_in_flight_free. `done` may be called before this function has returned, so that it
/// must not free what `reply` and `in_flight` point to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_begin(
    app: Option<&PwApp>,
    builder: Option<Box<PwRequestBuilder>>,
    reply: Option<&mut MaybeUninit<Option<Box<PwReply>>>>,
    in_flight: Option<&mut MaybeUninit<Option<Box<PwInFlight>>>>,
    done: PwOnReply,
    user: *mut c_void,
) -> Option<Box<PwError>> {
    guard(|| {
        let (reply, in_flight) = (output(reply, "reply"), output(in_flight, "in_flight"));
        let (reply, in_flight, host) = (reply?, in_flight?, &given(app, "app")?.host);
        let request = given(builder, "builder")?.into_request(host);
        let progress = host.handle(request, ended(given(done, "done")?, user, host))?;
        begun(progress, reply, in_flight, host);
        Ok(())
    })
}

type Ending = extern "C" fn(user: *mut c_void, reply: Option<Box<PwReply>>);

fn ended(done: Ending, user: *mut c_void, host: &Host) -> impl FnOnce(Ended) + Send + 'static {
    let (user, host) = (User::new(user, None), host.clone());
    move |ended| match ended {
        Ended::Reply(reply) => done(user.pointer(), Some(PwReply::got(reply, &host))),
        Ended::Cancelled => done(user.pointer(), None),
    }
}

/// The result is whether the request is ours.
fn begun(
    progress: Progress,
    reply: &mut MaybeUninit<Option<Box<PwReply>>>,
    in_flight: &mut MaybeUninit<Option<Box<PwInFlight>>>,
    host: &Host,
) -> bool {
    let (now, later, is_ours) = match progress {
        Progress::Ready(reply) => (Some(PwReply::got(reply, host)), None, true),
        Progress::Pending(in_flight) => (None, Some(Box::new(PwInFlight(in_flight))), true),
        Progress::NotOurs(_) => (None, None, false),
    };
    reply.write(now);
    in_flight.write(later);
    is_ours
}

/// Cancels a request: its handler is dropped, as when a client goes away. `done` gets NULL if there was no reply yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_in_flight_cancel(in_flight: Option<&PwInFlight>) {
    guard_or((), || {
        if let Some(in_flight) = in_flight {
            in_flight.0.cancel();
        }
    });
}

/// Frees the handle of a request, which goes on. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_in_flight_free(in_flight: Option<Box<PwInFlight>>) {
    guard_or((), || drop(in_flight));
}

/// Mounts the application in a server of the program. `prefix` is for PW_PLACE_BELOW alone, such as "/api", and becomes
/// that of the application, as by pw_app_set_prefix: add routes by hand after the mount. Free *mount with
/// pw_mount_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_mount(
    app: Option<&PwApp>,
    place: PwPlace,
    prefix: PwText,
    mount: Option<&mut MaybeUninit<Box<PwMount>>>,
) -> Option<Box<PwError>> {
    guard_value(mount, "mount", || {
        let host = &given(app, "app")?.host;
        let prefix = optional_text(prefix, "prefix")?;
        let place = match (place, prefix) {
            (PW_PLACE_BELOW, Some(_)) => Place::Below,
            (PW_PLACE_BELOW, None) => return Err(PwError::null("prefix")),
            (PW_PLACE_IN_FRONT | PW_PLACE_EVERYTHING, Some(_)) => {
                return Err(PwError::argument("prefix", "NULL without PW_PLACE_BELOW"));
            }
            (PW_PLACE_IN_FRONT, None) => Place::InFront,
            (PW_PLACE_EVERYTHING, None) => Place::Everything,
            _ => {
                return Err(PwError::argument(
                    "place",
                    "PW_PLACE_EVERYTHING, PW_PLACE_IN_FRONT or PW_PLACE_BELOW",
                ));
            }
        };
        let own = host.mount("c", place, prefix)?;
        let host = host.clone();
        Ok(Box::new(PwMount { mount: own, host }))
    })
}

/// Whether the mount answers a request with that method, target and headers. The builder keeps the route that matched:
/// pw_mount_handle and pw_mount_begin of the same mount answer by it, also if a swap took the route away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_mount_accepts(mount: Option<&PwMount>, builder: Option<&mut PwRequestBuilder>) -> bool {
    guard_or(false, || {
        let (Some(mount), Some(builder)) = (mount, builder) else {
            return false;
        };
        let (head, ()) = builder.head.clone().into_parts();
        let accepted = mount.mount.accept(&head);
        accepted.is_some_and(|accepted| {
            builder.head.extensions_mut().insert(accepted);
            true
        })
    })
}

/// Answers a request of the server, which is taken over. The calling thread waits. *reply is NULL if the request is not
/// the mount's: ask pw_mount_accepts first if its body matters. A request that takes longer than `timeout_ms`, 0 for no
/// limit, is cancelled: PW_ERROR_KIND_TIMED_OUT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_mount_handle(
    mount: Option<&PwMount>,
    builder: Option<Box<PwRequestBuilder>>,
    timeout_ms: u64,
    reply: Option<&mut MaybeUninit<Option<Box<PwReply>>>>,
) -> Option<Box<PwError>> {
    guard_value(reply, "reply", || {
        let PwMount { mount, host } = given(mount, "mount")?;
        let request = given(builder, "builder")?.into_request(host);
        let progress = in_time(mount.handle_blocking(request, at_most(timeout_ms))?, timeout_ms)?;
        Ok(match progress {
            Progress::Ready(answered) => Some(PwReply::got(answered, host)),
            _ => None,
        })
    })
}

/// As pw_app_begin, for a request of the server. If it is not the mount's, *reply and *in_flight are NULL, and `done`
/// is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_mount_begin(
    mount: Option<&PwMount>,
    builder: Option<Box<PwRequestBuilder>>,
    reply: Option<&mut MaybeUninit<Option<Box<PwReply>>>>,
    in_flight: Option<&mut MaybeUninit<Option<Box<PwInFlight>>>>,
    done: PwOnReply,
    user: *mut c_void,
) -> Option<Box<PwError>> {
    guard(|| {
        let (reply, in_flight) = (output(reply, "reply"), output(in_flight, "in_flight"));
        let (reply, in_flight, PwMount { mount, host }) = (reply?, in_flight?, given(mount, "mount")?);
        let request = given(builder, "builder")?.into_request(host);
        let progress = mount.handle(request, ended(given(done, "done")?, user, host))?;
        begun(progress, reply, in_flight, host);
        Ok(())
    })
}

/// Frees a mount, which the application goes on to know. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_mount_free(mount: Option<Box<PwMount>>) {
    guard_or((), || drop(mount));
}
