//! The signals that threads take.

use std::cell::Cell;

thread_local! {
    static TAKES_FAULTS: Cell<bool> = const { Cell::new(false) };
}

/// Lets this thread take SIGILL, SIGSEGV, SIGFPE and SIGBUS, by which the engine notices that a guest trapped. It costs a system
/// call once for each thread.
///
/// A program that waits for its signals by `sigwait` blocks all of them in every thread. A fault of a thread that blocks it
/// ends the process, so there is no reason to block one.
pub(crate) fn take_faults() {
    if !TAKES_FAULTS.replace(true) {
        change(MaskChange::TakeFaults);
    }
}

/// Leaves all signals but faults to other threads, such as one of the program that waits for them. For threads that run no
/// code of the program, which might start a process: that would inherit the blocked signals.
pub(crate) fn leave_signals() {
    change(MaskChange::LeaveAll);
    take_faults();
}

/// Has a write over the limit for the size of a file fail, as on a full disk; the signal SIGXFSZ would end the process.
pub(crate) fn leave_file_size() {
    change(MaskChange::LeaveFileSize);
}

enum MaskChange {
    TakeFaults,
    LeaveFileSize,
    LeaveAll,
}

#[cfg(unix)]
fn change(change: MaskChange) {
    // SAFETY: a set of signals is plain data, which the functions of libc fill; they concern the current thread alone.
    let refused = unsafe {
        let mut signals = std::mem::zeroed::<libc::sigset_t>();
        let how = match change {
            MaskChange::TakeFaults => {
                libc::sigemptyset(&raw mut signals);
                for fault in [libc::SIGILL, libc::SIGSEGV, libc::SIGFPE, libc::SIGBUS] {
                    libc::sigaddset(&raw mut signals, fault);
                }
                libc::SIG_UNBLOCK
            }
            MaskChange::LeaveFileSize => {
                libc::sigemptyset(&raw mut signals);
                libc::sigaddset(&raw mut signals, libc::SIGXFSZ);
                libc::SIG_BLOCK
            }
            MaskChange::LeaveAll => {
                libc::sigfillset(&raw mut signals);
                libc::SIG_BLOCK
            }
        };
        libc::pthread_sigmask(how, &raw const signals, std::ptr::null_mut())
    };
    debug_assert_eq!(refused, 0, "the arguments are valid");
}

#[cfg(not(unix))]
fn change(_: MaskChange) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn is_blocked(signal: i32) -> bool {
        // SAFETY: as above.
        unsafe {
            let mut signals = std::mem::zeroed::<libc::sigset_t>();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut signals);
            libc::sigismember(&raw const signals, signal) == 1
        }
    }

    #[test]
    fn thread_leaves_signals_and_takes_faults() {
        let thread = std::thread::spawn(|| {
            leave_signals();
            [libc::SIGTERM, libc::SIGPIPE, libc::SIGSEGV, libc::SIGILL].map(is_blocked)
        });
        assert_eq!(thread.join().unwrap(), [true, true, false, false]);
        assert!(!is_blocked(libc::SIGTERM));
    }
}
