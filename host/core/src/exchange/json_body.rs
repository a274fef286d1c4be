//! What a request body with JSON costs: a short text may stand for many values, each of which takes memory once it is decoded.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// Whether the body of a request is JSON by its `content-type`. One without it is, since modules read it as JSON.
pub(super) fn is_declared(headers: &HeaderMap) -> bool {
    let Some(content_type) = headers.get(CONTENT_TYPE) else {
        return true;
    };
    let essence = content_type.as_bytes().split(|&byte| byte == b';').next();
    let essence = essence.unwrap_or_default().trim_ascii().to_ascii_lowercase();
    essence.ends_with(b"/json") || essence.ends_with(b"+json")
}

/// The number of values in a JSON text: scalars, arrays and objects. For other bytes it is some number, at most their length.
pub(super) fn values(text: &[u8]) -> usize {
    let mut values = 1;
    let mut bytes = text.iter();
    // The bracket that has no value in it so far.
    let mut opened = false;
    while let Some(&byte) = bytes.next() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            b'[' | b'{' => {
                values += usize::from(opened);
                opened = true;
                continue;
            }
            b']' | b'}' => {}
            other => {
                values += usize::from(opened) + usize::from(other == b',');
                if other == b'"' {
                    skip_string(&mut bytes);
                }
            }
        }
        opened = false;
    }
    values
}

/// Goes behind the end of a string.
fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_counts_once() {
        for (text, expected) in [
            ("1", 1),
            ("[]", 1),
            (" [ ] ", 1),
            ("{}", 1),
            ("[1]", 2),
            ("[[]]", 2),
            ("[[],[]]", 3),
            ("[ [ ] , { } ]", 3),
            (r#"{"a":1,"b":[true,null]}"#, 5),
            (r#"["[,,,]","\",[", "\\",1]"#, 5),
            (r#"{"a,b":{"c":{}}}"#, 3),
            ("", 1),
            (r#"["torn"#, 2),
        ] {
            assert_eq!(values(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn the_number_agrees_with_a_parser() {
        fn count(value: &serde_json::Value) -> usize {
            match value {
                serde_json::Value::Array(values) => 1 + values.iter().map(count).sum::<usize>(),
                serde_json::Value::Object(values) => 1 + values.values().map(count).sum::<usize>(),
                _ => 1,
            }
        }
        let value = serde_json::json!({
            "items": [{"id": 1, "tags": ["a,b", "[{", "\"\\"], "none": null}, {}, [], [[[]]]],
            "total": 2.5,
        });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            assert_eq!(values(text.as_bytes()), count(&value), "{text}");
        }
    }

    #[test]
    fn a_body_is_json_by_its_content_type() {
        for (content_type, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/problem+json", true),
            ("text/json ;x=1", true),
            ("application/jsonl", false),
            ("text/plain", false),
            ("multipart/form-data; boundary=/json", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
            assert_eq!(is_declared(&headers), expected, "{content_type}");
        }
        assert!(is_declared(&HeaderMap::new()));
    }
}
