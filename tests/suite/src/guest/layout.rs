//! The memory layout of a synthetic guest.

use std::fmt::Write as _;

/// The address at which exports store their results.
pub(crate) const RETURN: u32 = 16;
/// The address at which imports store their results; the prelude contains the number.
pub(crate) const RESULT: u32 = 64;
/// The address at which the data begins.
const DATA: u32 = 1024;

/// The constant data of a guest.
#[derive(Debug, Default)]
pub(crate) struct Data(Vec<u8>);

/// An address in the data and a length: bytes of a text, elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) at: u32,
    pub(crate) len: u32,
}

impl Data {
    /// Adds bytes.
    pub(crate) fn bytes(&mut self, bytes: impl AsRef<[u8]>) -> Span {
        let bytes = bytes.as_ref();
        // Every record here has an alignment of at most 4.
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        let span = Span {
            at: self.end(),
            len: number(bytes.len()),
        };
        self.0.extend_from_slice(bytes);
        span
    }

    /// Adds a list of records.
    pub(crate) fn list(&mut self, records: &[Record]) -> Span {
        let bytes: Vec<u8> = records.iter().flat_map(|record| record.0.iter().copied()).collect();
        Span {
            len: number(records.len()),
            ..self.bytes(bytes)
        }
    }

    /// Adds a list of names with values, such as headers.
    pub(crate) fn pairs(&mut self, pairs: &[(String, Vec<u8>)]) -> Span {
        let mut records = Vec::new();
        for (name, value) in pairs {
            records.push(Record::default().span(self.bytes(name)).span(self.bytes(value)));
        }
        self.list(&records)
    }

    /// Adds a list of properties.
    pub(crate) fn properties(&mut self, properties: &[(String, String)]) -> Span {
        let mut records = Vec::new();
        // A long value that repeats is there once.
        let mut last = None;
        for (name, value) in properties {
            let span = match last {
                Some((before, span)) if before == value => span,
                _ => self.bytes(value),
            };
            last = Some((value, span));
            records.push(Record::default().span(self.bytes(name)).span(span));
        }
        self.list(&records)
    }

    /// Adds one record. Returns its address.
    pub(crate) fn record(&mut self, record: &Record) -> u32 {
        self.bytes(&record.0).at
    }

    /// The first address after the data.
    pub(crate) fn end(&self) -> u32 {
        DATA + number(self.0.len())
    }

    /// The data as a data segment of the module.
    pub(crate) fn segment(&self) -> String {
        let mut text = format!("(data (i32.const {DATA}) \"");
        for byte in &self.0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\{byte:02x}");
        }
        text.push_str("\")");
        text
    }
}

/// A record, written field by field in the layout of the canonical ABI.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Vec<u8>);

impl Record {
    /// A `u32`.
    pub(crate) fn number(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A text or a list.
    pub(crate) fn span(self, span: Span) -> Self {
        self.number(span.at).number(span.len)
    }

    /// An optional text.
    pub(crate) fn option(self, span: Option<Span>) -> Self {
        let present = u32::from(span.is_some());
        self.number(present).span(span.unwrap_or(Span { at: 0, len: 0 }))
    }
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("the data of a test guest fits into its memory")
}
