//! The pattern grammar.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::{PatternError, PatternErrorKind as Kind};
use crate::pattern::Segment;
use crate::text::{BadText, decode, is_unprintable};

/// Reads parts, and appends each to the ones before it.
#[derive(Default)]
pub(crate) struct Parser {
    /// The normal form so far; the root is still the empty text.
    pub(crate) text: String,
    pub(crate) segments: Vec<Segment>,
    names: HashSet<Arc<str>>,
}

impl Parser {
    pub(crate) fn read(&mut self, part: &str) -> Result<(), PatternError> {
        let inner = part.strip_prefix('/').unwrap_or(part);
        let mut at = part.len() - inner.len();
        if inner.is_empty() {
            return Ok(());
        }
        // `//` is an empty segment, not the root: the second slash does not close a segment.
        let inner = inner
            .strip_suffix('/')
            .filter(|inner| !inner.is_empty())
            .unwrap_or(inner);
        for segment in inner.split('/') {
            if let Some(Segment::Rest(name)) = self.segments.last() {
                // The position of the slash before this segment, or of the segment if there is no slash.
                return Err(PatternError::new(
                    part,
                    at.saturating_sub(1),
                    Kind::AfterRest(name.to_string()),
                ));
            }
            let segment_read = self
                .segment(segment)
                .map_err(|(offset, kind)| PatternError::new(part, at + offset, kind))?;
            self.segments.push(segment_read);
            self.text.push('/');
            self.text.push_str(segment);
            at += segment.len() + 1;
        }
        Ok(())
    }

    fn segment(&mut self, segment: &str) -> Result<Segment, (usize, Kind)> {
        if segment.is_empty() {
            return Err((0, Kind::EmptySegment));
        }
        if let Some(name) = segment.strip_prefix(':') {
            return self.name(name).map(Segment::Param);
        }
        if let Some(name) = segment.strip_prefix('*') {
            return self.name(name).map(Segment::Rest);
        }
        let is_bad = |c: char| matches!(c, ':' | '*' | '?' | '#') || c.is_whitespace() || is_unprintable(c);
        match segment.char_indices().find(|(_, character)| is_bad(*character)) {
            Some((at, marker @ (':' | '*'))) => return Err((at, Kind::MarkerInLiteral(marker))),
            Some((at, character)) => return Err((at, Kind::Character(character))),
            None => {}
        }
        match decode(segment) {
            Ok(literal) => Ok(Segment::Literal(literal.into())),
            Err(BadText::Escape(at)) => Err((at, Kind::Escape)),
            Err(BadText::Utf8) => Err((0, Kind::Utf8)),
        }
    }

    /// A parameter's name, which begins one byte into its segment.
    fn name(&mut self, name: &str) -> Result<Arc<str>, (usize, Kind)> {
        if name.is_empty() {
            return Err((1, Kind::EmptyName));
        }
        let bad = name.char_indices().find(|(at, character)| match character {
            '_' => false,
            '-' | '0'..='9' => *at == 0,
            _ => !character.is_ascii_alphabetic(),
        });
        if let Some((at, character)) = bad {
            return Err((1 + at, Kind::NameCharacter(character)));
        }
        let name: Arc<str> = name.into();
        if !self.names.insert(Arc::clone(&name)) {
            return Err((1, Kind::DuplicateName(name.to_string())));
        }
        Ok(name)
    }
}
