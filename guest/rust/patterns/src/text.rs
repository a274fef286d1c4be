//! Text from modules and clients: how it is decoded, and how it is shown in errors.

use std::fmt::{self, Write};

/// Why percent-encoded text cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadText {
    /// A `%` at this byte offset is not followed by two hexadecimal digits.
    Escape(usize),
    /// The decoded bytes are not UTF-8.
    Utf8,
}

/// Decodes each escape once. One invalid escape fails the whole text.
///
/// # Errors
///
/// An escape is invalid, or the decoded bytes are not UTF-8.
pub fn decode(text: &str) -> Result<String, BadText> {
    let mut bytes = text.bytes().enumerate();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some((at, byte)) = bytes.next() {
        let mut digit = || char::from(bytes.next()?.1).to_digit(16);
        decoded.push(match byte {
            b'%' => match (digit(), digit()) {
                (Some(high), Some(low)) => (high * 16 + low) as u8,
                _ => return Err(BadText::Escape(at)),
            },
            _ => byte,
        });
    }
    String::from_utf8(decoded).map_err(|_| BadText::Utf8)
}

/// Encodes a decoded literal so that both [`decode`] and the pattern grammar read it back: all that RFC 3986 does not allow in
/// a path segment, and `:` and `*`, which have a meaning in a pattern.
pub(crate) fn encode_literal(text: &str) -> impl fmt::Display + '_ {
    fmt::from_fn(move |f| {
        text.bytes().try_for_each(|byte| match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => f.write_char(byte.into()),
            _ if b"-._~!$&'()+,;=@".contains(&byte) => f.write_char(byte.into()),
            _ => write!(f, "%{byte:02X}"),
        })
    })
}

/// Untrusted text for one line of an error: unprintable characters are escaped, and it is cut after 128 bytes.
pub fn excerpt(text: &str) -> impl fmt::Display + '_ {
    one_line(text, 128)
}

/// Untrusted text for one line of a log: characters that could begin another line or move the cursor are escaped, and the
/// text is cut after `most` bytes, with the mark `…`.
///
/// ```
/// use pointwork_patterns::text::one_line;
///
/// assert_eq!(one_line("said\n2024 ERROR forged", 100).to_string(), "said\\n2024 ERROR forged");
/// assert_eq!(one_line("too long", 3).to_string(), "too…");
/// ```
pub fn one_line(text: &str, most: usize) -> impl fmt::Display + '_ {
    fmt::from_fn(move |f| escape(f, text, most, false))
}

/// Untrusted text of several lines for a log: as [`one_line`], but it may have further lines, which are indented, so that
/// none of them looks like a line of the log's own.
///
/// ```
/// use pointwork_patterns::text::paragraph;
///
/// assert_eq!(paragraph("said\n2024 ERROR forged", 100).to_string(), "said\n    2024 ERROR forged");
/// ```
pub fn paragraph(text: &str, most: usize) -> impl fmt::Display + '_ {
    fmt::from_fn(move |f| escape(f, text, most, true))
}

fn escape(f: &mut fmt::Formatter<'_>, text: &str, most: usize, breaks: bool) -> fmt::Result {
    if text.len() <= most && !text.chars().any(is_unprintable) {
        return f.write_str(text);
    }
    let mut left = most;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_break = breaks && character == '\n';
        let is_escaped = is_unprintable(character) && !is_break;
        // Not escape_debug for all: it would also put a backslash before quotes.
        let length = if is_escaped {
            character.escape_default().len()
        } else {
            character.len_utf8()
        };
        let Some(rest) = left.checked_sub(length) else {
            return f.write_char('…');
        };
        left = rest;
        if is_escaped {
            write!(f, "{}", character.escape_default())?;
        } else {
            f.write_char(character)?;
        }
        if is_break && characters.peek().is_some_and(|next| !matches!(next, ' ' | '\n')) {
            f.write_str("    ")?;
        }
    }
    Ok(())
}

/// Whether a character is forbidden in a name and in a line of a log: a control character, a line break outside ASCII, or
/// a character that changes the direction of the text after it.
pub fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_escape_is_found_where_it_is() {
        for (text, at) in [("%", 0), ("a%2", 1), ("%41%zz", 3), ("%%41", 0), ("%é1", 0)] {
            assert_eq!(decode(text), Err(BadText::Escape(at)), "{text}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        for text in ["%ff", "%C3", "%C0%AF", "%ED%A0%80", "%C3/%A9"] {
            assert_eq!(decode(text), Err(BadText::Utf8), "{text}");
        }
    }

    #[test]
    fn a_written_literal_reads_back() {
        let literal = "a/b:c*d e%f?g#hé{}\u{0}";
        let written = encode_literal(literal).to_string();
        assert!(!written.contains(['/', ':', '*', ' ', '?', '#', '{']), "{written}");
        assert_eq!(decode(&written).unwrap(), literal);
    }

    #[test]
    fn an_excerpt_is_short_and_on_one_line() {
        assert_eq!(excerpt("a\u{202e}b").to_string(), "a\\u{202e}b");
        assert_eq!(excerpt("a\nb\u{1b}[31m").to_string(), "a\\nb\\u{1b}[31m");
        assert_eq!(excerpt("it's \"é\"").to_string(), "it's \"é\"");
        assert_eq!(excerpt(&"x".repeat(5_000)).to_string().chars().count(), 129);
        assert_eq!(one_line("\n\n", 3).to_string(), "\\n…");
    }

    #[test]
    fn the_lines_of_a_paragraph_are_indented() {
        let text = "first\nERROR forged\u{1b}[31m\n  kept";
        assert_eq!(
            paragraph(text, 100).to_string(),
            "first\n    ERROR forged\\u{1b}[31m\n  kept"
        );
        assert_eq!(paragraph(text, 5).to_string(), "first…");
    }
}
