//! The log.

use std::ffi::{c_char, c_void};

use pointwork_embed::{Level, write_log};

use crate::bytes::{User, c_text, given};
use crate::error::{PwError, guard};

/// The level of a line of the log.
pub type PwLevel = i32;

/// Errors.
pub const PW_LEVEL_ERROR: PwLevel = 1;

/// Warnings.
pub const PW_LEVEL_WARN: PwLevel = 2;

/// Events of the server's life.
pub const PW_LEVEL_INFO: PwLevel = 3;

/// More.
pub const PW_LEVEL_DEBUG: PwLevel = 4;

/// Everything.
pub const PW_LEVEL_TRACE: PwLevel = 5;

/// Gets a line of the log: the part of the host that wrote it, and the message. Both live for the call. It must not
/// block for long.
pub type PwOnLog =
    Option<extern "C" fn(user: *mut c_void, level: PwLevel, target: *const c_char, message: *const c_char)>;

/// Has a callback write the log of this process, at that level and above. There is one for all applications, and for
/// the rest of the process: a second one is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_log(level: PwLevel, callback: PwOnLog, user: *mut c_void) -> Option<Box<PwError>> {
    guard(|| {
        let callback = given(callback, "callback")?;
        let user = User::new(user, None);
        let level = match level {
            PW_LEVEL_ERROR => Level::ERROR,
            PW_LEVEL_WARN => Level::WARN,
            PW_LEVEL_INFO => Level::INFO,
            PW_LEVEL_DEBUG => Level::DEBUG,
            PW_LEVEL_TRACE => Level::TRACE,
            _ => return Err(PwError::argument("level", "PW_LEVEL_ERROR to PW_LEVEL_TRACE")),
        };
        write_log(level, move |line| {
            let level = match line.level {
                Level::ERROR => PW_LEVEL_ERROR,
                Level::WARN => PW_LEVEL_WARN,
                Level::INFO => PW_LEVEL_INFO,
                Level::DEBUG => PW_LEVEL_DEBUG,
                _ => PW_LEVEL_TRACE,
            };
            let (target, message) = (c_text(&line.target), c_text(&line.message));
            callback(user.pointer(), level, target.as_ptr(), message.as_ptr());
        })?;
        Ok(())
    })
}
