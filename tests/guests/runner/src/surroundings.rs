//! Functions of the host that the SDK does not offer in this way: values of the environment as numbers, a log line whose
//! fields are known at run time, reports of panics and exceptions in the words of the program, and a trap without a panic.

#[cfg(target_arch = "wasm32")]
mod of_the_host {
    use pointwork_guest::bindings::imports::{environment, log};
    use pointwork_guest::bindings::types::{Frame, Level, Report};
    use serde_json::Value;

    use crate::slot::{list, repeated};

    /// The monotonic clock: seconds, a space, nanoseconds.
    pub(crate) fn monotonic() -> String {
        let instant = environment::monotonic();
        format!("{} {}", instant.seconds, instant.nanoseconds)
    }

    pub(crate) fn random() -> u32 {
        environment::random()
    }

    /// Writes a line of the log with fields, each a name and a value. The fields stay where they are in the text of the guest: a field
    /// that is there many times can be longer in sum than the memory of the guest.
    pub(crate) fn log_with(message: &str, fields: &'static Value) {
        #[link(wasm_import_module = "pointwork:module/log@0.2.0")]
        unsafe extern "C" {
            #[link_name = "write"]
            fn write(
                level: u32,
                target: *const u8,
                target_length: usize,
                message: *const u8,
                message_length: usize,
                fields: *const [usize; 4],
                count: usize,
            );
        }
        let target = "synthetic";
        let text = |value: &'static Value| value.as_str().unwrap_or_default();
        let words = |field: &'static Value| {
            let (name, value) = (text(&field[0]), text(&field[1]));
            let place = |text: &str| text.as_ptr().expose_provenance();
            [place(name), name.len(), place(value), value.len()]
        };
        let fields: Vec<_> = repeated(fields).map(words).collect();
        // SAFETY: the words are those of the canonical ABI, and the host reads the texts during the call.
        unsafe {
            write(
                Level::Info as u32,
                target.as_ptr(),
                target.len(),
                message.as_ptr(),
                message.len(),
                fields.as_ptr(),
                fields.len(),
            );
        }
    }

    /// Reports the cause of a trap that follows.
    pub(crate) fn report_panic(message: String, exception: &str, frames: &[Value]) {
        log::panicked(&report(message, exception, frames));
    }

    /// Reports an exception that ends the call, while the instance stays usable.
    pub(crate) fn report_exception(message: String, exception: &str, frames: &[Value]) {
        log::raised(&report(message, exception, frames));
    }

    /// A report with the type of an exception, and with frames: function, file and line of each.
    fn report(message: String, exception: &str, frames: &[Value]) -> Report {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let frames = frames.first().map_or(&[][..], list).iter();
        let stack = frames.map(|frame| Frame {
            function: text(&frame[0]),
            file: text(&frame[1]),
            line: frame[2]
                .as_u64()
                .and_then(|line| line.try_into().ok())
                .unwrap_or_default(),
        });
        Report {
            message,
            exception: Some(exception.to_owned()),
            stack: stack.collect(),
        }
    }

    pub(crate) fn trap() -> ! {
        core::arch::wasm32::unreachable()
    }
}

/// A native build has no host.
#[cfg(not(target_arch = "wasm32"))]
mod of_the_host {
    use serde_json::Value;

    const NO_HOST: &str = "this step needs a host";

    pub(crate) fn monotonic() -> String {
        panic!("{NO_HOST}")
    }

    pub(crate) fn random() -> u32 {
        panic!("{NO_HOST}")
    }

    pub(crate) fn log_with(_message: &str, _fields: &'static Value) {
        panic!("{NO_HOST}")
    }

    pub(crate) fn report_panic(_message: String, _exception: &str, _frames: &[Value]) {
        panic!("{NO_HOST}")
    }

    pub(crate) fn report_exception(_message: String, _exception: &str, _frames: &[Value]) {
        panic!("{NO_HOST}")
    }

    pub(crate) fn trap() -> ! {
        panic!("{NO_HOST}")
    }
}

pub(crate) use of_the_host::{log_with, monotonic, random, report_exception, report_panic, trap};

/// Never returns, and never waits.
#[expect(clippy::empty_loop, reason = "the host ends a guest that uses up its processor time")]
pub(crate) fn spin() -> ! {
    loop {}
}
