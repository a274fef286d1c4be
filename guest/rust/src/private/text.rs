//! Text in constant functions, which the compiler runs.

/// The bytes of all parts together.
pub const fn length(parts: &[&str]) -> usize {
    let (mut length, mut part) = (0, 0);
    while part < parts.len() {
        length += parts[part].len();
        part += 1;
    }
    length
}

/// The parts, one after the other. `N` is their [`length`].
pub const fn joined<const N: usize>(parts: &[&str]) -> [u8; N] {
    let mut all = [0; N];
    let (mut length, mut part) = (0, 0);
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            all[length] = bytes[at];
            length += 1;
            at += 1;
        }
        part += 1;
    }
    all
}

/// The text of joined parts.
pub const fn text(bytes: &[u8]) -> &str {
    match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

/// Whether requests of the method have no body as a rule. `None` is every method.
pub const fn is_read(method: Option<&str>) -> bool {
    match method {
        Some(method) => same(method.as_bytes(), b"GET") || same(method.as_bytes(), b"HEAD"),
        None => true,
    }
}

pub(super) const fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
