//! The log lines of a guest: the interface `log`.

use std::fmt::Write;

use pointwork_core::{Crash, CrashKind, is_unprintable, one_line};
use wasmtime::Result;
use wasmtime::component::{Access, HasSelf};

use super::output::{LineLog, OutputStream};
use super::spans::{caller_of_line, line_span, running_task, task_of_code};
use super::{Guest, MAX_LOG_LINE};
use crate::guest::bindings::{log, types};

/// The longest target of a line, in bytes.
const MAX_TARGET: usize = 255;

impl log::Host for Guest {}

impl<T: Send + 'static> log::HostWithStore<T> for HasSelf<Guest> {
    fn write(
        mut access: Access<'_, T, Self>,
        level: log::Level,
        mut target: String,
        message: String,
        fields: Vec<types::Property>,
    ) -> Result<()> {
        let guest = access.get();
        if guest.lines.spend(&guest.module)?.is_some() {
            return Ok(());
        }
        let span = line_span(&mut access)?;
        let _entered = span.enter();
        cut(&mut target, MAX_TARGET);
        let mut fields = fields_of(&fields);
        let room = MAX_LOG_LINE - target.len().min(MAX_TARGET);
        let of_message = room
            .saturating_sub(fields.as_ref().map_or(0, String::len))
            .max(room / 2);
        if let Some(fields) = &mut fields {
            cut(fields, room - message.len().min(of_message));
        }
        let message = one_line(&message, of_message);
        if matches!(level, log::Level::Error)
            && let Some(caller) = caller_of_line(&mut access)?
        {
            caller.show_error(&access.get().module, &message);
        }
        let (module, from, fields) = (&*access.get().module, target.as_str(), fields.as_deref());
        match level {
            log::Level::Trace => tracing::trace!(module, from, fields, "{message}"),
            log::Level::Debug => tracing::debug!(module, from, fields, "{message}"),
            log::Level::Info => tracing::info!(module, from, fields, "{message}"),
            log::Level::Warn => tracing::warn!(module, from, fields, "{message}"),
            log::Level::Error => tracing::error!(module, from, fields, "{message}"),
        }
        Ok(())
    }

    fn print(mut access: Access<'_, T, Self>, to_error: bool, bytes: Vec<u8>) -> Result<()> {
        let stream = if to_error {
            OutputStream::Error
        } else {
            OutputStream::Output
        };
        let task = running_task(&mut access)?;
        if task.is_none() && access.get().shares {
            let ended = task_of_code(&mut access)?;
            access.get().prints_after_its_call(ended);
        }
        let guest = access.get();
        let (module, lines) = (guest.module.clone(), guest.lines.clone());
        let log = LineLog {
            module: &module,
            lines: &lines,
            span: guest.span_of(task),
        };
        guest.state(task).output.print(stream, &bytes, &log)?;
        Ok(())
    }

    fn panicked(mut access: Access<'_, T, Self>, report: log::Report) -> Result<()> {
        let task = running_task(&mut access)?;
        let guest = access.get();
        guest.panic = Some(text_of(&report));
        guest.note_culprit(task);
        Ok(())
    }

    fn raised(mut access: Access<'_, T, Self>, report: log::Report) -> Result<()> {
        let task = running_task(&mut access)?;
        let guest = access.get();
        let report = text_of(&report);
        if let Some(exceeded) = guest.limits.refused {
            guest.panic = Some(report);
            guest.note_culprit(task);
            return Err(exceeded.into());
        }
        let crash = Crash::new(CrashKind::Exception, report).in_module(&*guest.module);
        if guest.shares && task.is_none() {
            // The call has ended, so that nothing else reports the exception.
            if guest.lines.spend(&guest.module)?.is_none()
                && let Some(caller) = guest.caller_of(task)
            {
                caller.report(crash);
            }
            return Ok(());
        }
        let state = guest.state(task);
        let is_of_client = state.is_of_client();
        state.raised.get_or_insert((crash, is_of_client));
        Ok(())
    }
}

/// The fields of a line as `name=value`, separated by spaces; a value that would be ambiguous is quoted.
fn fields_of(fields: &[types::Property]) -> Option<String> {
    let mut text = String::new();
    for field in fields {
        if !text.is_empty() {
            text.push(' ');
        }
        word(&mut text, &field.name);
        text.push('=');
        word(&mut text, &field.value);
        if text.len() > MAX_LOG_LINE {
            break;
        }
    }
    (!fields.is_empty()).then_some(text)
}

fn word(text: &mut String, word: &str) {
    // No more of it fits.
    let word = &word[..word.floor_char_boundary(MAX_LOG_LINE + 1)];
    let is_plain = |c: char| !c.is_whitespace() && !is_unprintable(c) && !matches!(c, '"' | '=' | '\\');
    let result = if !word.is_empty() && word.chars().all(is_plain) {
        text.write_str(word)
    } else {
        write!(text, "{word:?}")
    };
    debug_assert!(result.is_ok(), "writing to a string cannot fail");
}

/// A panic or an exception for people: `TypeError: message`, and a line for each frame.
fn text_of(report: &log::Report) -> String {
    let mut text = String::new();
    if let Some(exception) = &report.exception {
        push_line(&mut text, exception);
        text.push_str(": ");
    }
    let most = report.message.floor_char_boundary(MAX_LOG_LINE + 1);
    text.push_str(&report.message[..most]);
    cut(&mut text, MAX_LOG_LINE);
    for frame in &report.stack {
        if text.len() > 2 * MAX_LOG_LINE {
            text.push_str("\n    …");
            break;
        }
        text.push_str("\n    at ");
        push_line(&mut text, &frame.function);
        if frame.file.is_empty() {
            continue;
        }
        // Rust's own report of a panic knows the file and no function.
        let (open, close) = if frame.function.is_empty() {
            ("", "")
        } else {
            (" (", ")")
        };
        text.push_str(open);
        push_line(&mut text, &frame.file);
        if frame.line > 0 {
            text.push_str(&format!(":{}", frame.line));
        }
        text.push_str(close);
    }
    text
}

/// Appends a short text that stays on its line.
fn push_line(line: &mut String, text: &str) {
    const MOST: usize = 512;
    let visible = text.chars().map(|c| if is_unprintable(c) { '\u{fffd}' } else { c });
    line.extend(visible.take(MOST));
}

/// Cuts a text of a guest after so many bytes, with the mark `…`.
pub(super) fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(fields: &[(&str, &str)]) -> Option<String> {
        let property = |(name, value): &(&str, &str)| types::Property {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        };
        fields_of(&fields.iter().map(property).collect::<Vec<_>>())
    }

    #[test]
    fn fields_stay_on_one_line_and_apart() {
        assert_eq!(fields(&[]), None);
        assert_eq!(fields(&[("a", "1"), ("b", "2")]).as_deref(), Some("a=1 b=2"));
        let odd = fields(&[("two words", "x=y"), ("line", "1\n2 level=error"), ("none", "")]);
        assert_eq!(
            odd.as_deref(),
            Some(r#""two words"="x=y" line="1\n2 level=error" none="""#)
        );
        let long = fields(&[("long", &"x".repeat(2 * MAX_LOG_LINE)), ("next", "1")]).unwrap();
        assert!(long.len() <= MAX_LOG_LINE + "long=xx next=1".len(), "{}", long.len());
    }

    #[test]
    fn a_crash_has_its_exception_and_its_frames() {
        let frame = |function: &str, file: &str, line| log::Frame {
            function: function.to_owned(),
            file: file.to_owned(),
            line,
        };
        let crash = log::Report {
            message: "x is not a function".to_owned(),
            exception: Some("TypeError".to_owned()),
            stack: vec![
                frame("show", "shop.ts", 7),
                frame("run\n", "", 0),
                frame("main", "main.ts", 0),
            ],
        };
        assert_eq!(
            text_of(&crash),
            "TypeError: x is not a function\n    at show (shop.ts:7)\n    at run\u{fffd}\n    at main (main.ts)"
        );
        let deep = log::Report {
            message: "x".repeat(3 * MAX_LOG_LINE),
            exception: None,
            stack: vec![frame(&"f".repeat(1000), "f.rs", 1); 1000],
        };
        assert!(text_of(&deep).len() < 3 * MAX_LOG_LINE);
    }
}
