//! The sentences in the sources.

/// Turns each `(@panic "…")` into stores of the sentence at address 0, eight bytes at a time, and a call of `$panic`.
pub(crate) fn with_sentences(text: &str) -> String {
    let mut parts = text.split("(@panic \"");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (sentence, rest) = part.split_once("\")").expect("the sentence ends");
        for (at, bytes) in sentence.as_bytes().chunks(8).enumerate() {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            let (offset, number) = (8 * at, u64::from_le_bytes(padded));
            result.push_str(&format!(
                "(i64.store offset={offset} (i32.const 0) (i64.const {number:#x}))\n"
            ));
        }
        result.push_str(&format!(
            "(call $panic (i32.const {})) unreachable{rest}",
            sentence.len()
        ));
    }
    result
}
