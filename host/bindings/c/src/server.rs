//! The server that is built in.

use std::ffi::{CString, c_char, c_void};
use std::mem::MaybeUninit;

use pointwork_embed::{Error, Host, Server, Waiting};

use crate::app::PwApp;
use crate::bytes::{PwDone, PwText, given, text};
use crate::error::{PwError, guard, guard_or, guard_value};
use crate::waiting::run;

/// A running server.
#[derive(Debug)]
pub struct PwServer {
    server: Server,
    address: CString,
    host: Host,
}

/// Serves the application at an address such as "127.0.0.1:8080"; port 0 is a free one. It returns when the server
/// listens. Free *server with pw_server_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_app_serve(
    app: Option<&PwApp>,
    address: PwText,
    server: Option<&mut MaybeUninit<Box<PwServer>>>,
) -> Option<Box<PwError>> {
    guard_value(server, "server", || {
        let host = &given(app, "app")?.host;
        let serving = host.serve(text(address, "address")?, host.server_options());
        // It waits without end, so there is a result.
        let server = given(host.wait(serving, Waiting::forever())?, "server")?;
        let address = CString::new(server.address().to_string()).unwrap_or_default();
        let host = host.clone();
        Ok(Box::new(PwServer { server, address, host }))
    })
}

/// The address that the server listens on. It lives as long as the server's handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_server_address(server: Option<&PwServer>) -> *const c_char {
    server.map_or(c"".as_ptr(), |server| server.address.as_ptr())
}

/// Stops the server: no connection is accepted any more, and requests in flight end within the setting `shutdown-grace`
/// of `limits`. With `done` it returns at once; with NULL it waits for the end, and must not be called from a callback.
/// The end is PW_ERROR_KIND_TIMED_OUT if it takes longer than `timeout_ms`, 0 for no limit; the server stops all the
/// same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_server_stop(
    server: Option<&PwServer>,
    timeout_ms: u64,
    done: PwDone,
    user: *mut c_void,
) -> Option<Box<PwError>> {
    guard(|| {
        let PwServer { server, host, .. } = given(server, "server")?;
        server.stop();
        let stopped = server.stopped();
        let stopping = async move {
            stopped.await;
            Ok::<_, Error>(())
        };
        run(host, stopping, timeout_ms, done, user)
    })
}

/// Frees the handle of a server, which serves on until pw_server_stop or pw_app_close. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_server_free(server: Option<Box<PwServer>>) {
    guard_or((), || drop(server));
}
