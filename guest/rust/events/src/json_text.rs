//! What a JSON text must not have, although a parser reads it.
//!
//! Payloads and bodies go on to code in JavaScript, where the key `__proto__` names the prototype of an object, and
//! `constructor.prototype` that of its class: code that copies such a key changes other objects. Half of a surrogate pair is no
//! Unicode text. Parsers do not look at it in a value that they skip.
//!
//! One scan finds both. It follows strings and brackets, and leaves all other mistakes to the parser. Its time grows with the length
//! of the text, and its memory with the number of keys `constructor` around a place, not with the depth.

use std::ops::Range;

/// Refuses a key that names a prototype, and half of a surrogate pair. The error has the place.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let mut scan = Scan {
        text: text.as_bytes(),
        at: 0,
    };
    let mut depth = 0_usize;
    // The depths of the objects behind a key `constructor` that are open.
    let mut constructors: Vec<usize> = Vec::new();
    while let Some(byte) = scan.peek() {
        match byte {
            b'"' => {
                let string = scan.string()?;
                if scan.next_token() != Some(b':') {
                    continue;
                }
                if scan.is_same(&string, b"__proto__") {
                    return Err(scan.refused("__proto__", string.start));
                }
                if scan.is_same(&string, b"prototype") && constructors.last() == Some(&depth) {
                    return Err(scan.refused("constructor.prototype", string.start));
                }
                if scan.is_same(&string, b"constructor") {
                    scan.at += 1;
                    if scan.next_token() == Some(b'{') {
                        constructors.push(depth + 1);
                    }
                }
            }
            b'{' | b'[' => {
                depth += 1;
                scan.at += 1;
            }
            b'}' | b']' => {
                if constructors.last() == Some(&depth) {
                    constructors.pop();
                }
                depth = depth.saturating_sub(1);
                scan.at += 1;
            }
            _ => scan.at += 1,
        }
    }
    Ok(())
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Skips white space.
    fn next_token(&mut self) -> Option<u8> {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.peek()
    }

    /// Skips a string, and returns its range without the quotation marks.
    fn string(&mut self) -> Result<Range<usize>, String> {
        let start = self.at + 1;
        self.at = start;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(start..self.at - 1);
                }
                b'\\' => self.escape()?,
                _ => self.at += 1,
            }
        }
        Ok(start..self.text.len())
    }

    fn escape(&mut self) -> Result<(), String> {
        let start = self.at;
        let Some(first) = self.unit(start) else {
            // The escaped character may be a quotation mark.
            self.at += 2;
            return Ok(());
        };
        self.at += 6;
        if matches!(first, 0xd800..=0xdbff) && matches!(self.unit(self.at), Some(0xdc00..=0xdfff)) {
            self.at += 6;
        } else if matches!(first, 0xd800..=0xdfff) {
            let place = self.place(start);
            return Err(format!(
                "`\\u{first:04x}` at {place} is half of a surrogate pair, expected both halves"
            ));
        }
        Ok(())
    }

    /// The value of the escape `\u…` at this position.
    fn unit(&self, at: usize) -> Option<u16> {
        let digits = self.text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |unit, digit| {
            let digit = char::from(*digit).to_digit(16)?;
            Some(unit << 4 | digit as u16)
        })
    }

    /// Whether the string is this name, which needs no escape but may be written with some.
    fn is_same(&self, string: &Range<usize>, name: &[u8]) -> bool {
        let raw = &self.text[string.clone()];
        if raw.len() < name.len() || raw.len() > 6 * name.len() {
            return false;
        }
        let mut at = string.start;
        let is_same = name.iter().all(|byte| match self.unit(at) {
            Some(unit) => {
                at += 6;
                unit == u16::from(*byte)
            }
            None => {
                at += 1;
                self.text[at - 1] == *byte
            }
        });
        is_same && at == string.end
    }

    /// `start` is that of the text of the key, behind its quotation mark.
    fn refused(&self, key: &str, start: usize) -> String {
        format!("the key `{key}` at {} is not allowed", self.place(start - 1))
    }

    /// Counted in bytes, as the parser does.
    fn place(&self, at: usize) -> String {
        let before = &self.text[..at];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        format!("line {line}, column {column}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::check;

    #[test]
    fn a_key_that_names_a_prototype_is_refused_with_its_place() {
        for (text, expected) in [
            (
                r#"{"__proto__":1}"#,
                "the key `__proto__` at line 1, column 2 is not allowed",
            ),
            (
                r#"{"role":"__proto__","__proto__":1}"#,
                "the key `__proto__` at line 1, column 21 is not allowed",
            ),
            (
                "[1,\n {\"a\": {\"__proto__\" : 1}}]",
                "the key `__proto__` at line 2, column 9 is not allowed",
            ),
            (
                r#"{"\u005f_proto__":1}"#,
                "the key `__proto__` at line 1, column 2 is not allowed",
            ),
            (
                r#"{"__prot\u006F_\u005f":1}"#,
                "the key `__proto__` at line 1, column 2 is not allowed",
            ),
            (
                r#"{"constructor": {"a":{}, "prototype":{}}}"#,
                "the key `constructor.prototype` at line 1, column 26 is not allowed",
            ),
            (
                r#"{"constructo\u0072":{"constructor":{"a":[{"prototype":1}],"prototyp\u0065":{}}}}"#,
                "the key `constructor.prototype` at line 1, column 59 is not allowed",
            ),
            (
                r#"{"constructor":{"constructor":{"a":1},"prototype":1}}"#,
                "the key `constructor.prototype` at line 1, column 39 is not allowed",
            ),
            (
                r#"{"constructor":{"prototype":1},"__proto__":1}"#,
                "the key `constructor.prototype` at line 1, column 17 is not allowed",
            ),
        ] {
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
            assert_eq!(check(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn other_keys_and_all_values_are_allowed() {
        for text in [
            r#"{"a":"__proto__","b":["__proto__","constructor","prototype"]}"#,
            r#"{"constructor":"prototype","prototype":{}}"#,
            r#"{"constructor":[{"prototype":1}]}"#,
            r#"{"constructor":{"a":{"prototype":1}}}"#,
            r#"[{"constructor":{}},{"prototype":1}]"#,
            r#"{"constructor":{"constructor":{}},"prototype":1}"#,
            r#"{"__proto":1,"___proto__":2,"\\u005f_proto__":3,"__proto__\n":4,"proto":5}"#,
            r#"{"\"__proto__":1,"a\\":{"b\"":"\\"}}"#,
        ] {
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_is_refused_where_the_parser_refuses_it() {
        for (text, place) in [
            (r#""\ud800""#, Some("`\\ud800` at line 1, column 2")),
            (r#"["a\uDFFF"]"#, Some("`\\udfff` at line 1, column 4")),
            (r#""\ud83d\ud83d\ude00""#, Some("`\\ud83d` at line 1, column 2")),
            (r#""\ud83d\\ude00""#, Some("`\\ud83d` at line 1, column 2")),
            (r#"{"\ude00":1}"#, Some("`\\ude00` at line 1, column 3")),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud800""#, None),
        ] {
            assert_eq!(serde_json::from_str::<Value>(text).is_ok(), place.is_none(), "{text}");
            let expected = place.map(|place| format!("{place} is half of a surrogate pair, expected both halves"));
            assert_eq!(check(text).err(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_left_to_the_parser() {
        for text in [
            "",
            "\"",
            "\"\\",
            "\"\\u",
            "\"\\u12",
            "\"\\uzzzz\"",
            "]]}}",
            "{\"__proto__\"",
            "{\"constructor\":",
            "é\u{1f600}\"\\é\"",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        let deep = format!("{}{}", "{\"constructor\":".repeat(100_000), "[".repeat(100_000));
        assert_eq!(check(&deep), Ok(()));
    }
}
