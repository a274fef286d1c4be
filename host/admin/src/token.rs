//! The secret that clients of an address show.

use std::fmt;

use http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{Error, ErrorKind};

/// A secret that every request has to show, as `Authorization: Bearer …`.
///
/// Whoever has it can replace the code that serves, so keep it as you keep a key. It is never printed.
#[derive(Clone)]
pub struct Token {
    /// Only the digest is kept and compared: its length says nothing about the token's.
    digest: [u8; 32],
}

impl Token {
    /// The fewest characters of a token: what 128 random bits take in base64.
    pub const MIN_LENGTH: usize = 22;

    /// A token of that text; white space around it is not part of it.
    ///
    /// # Errors
    /// [`Token`](ErrorKind::Token) if it is shorter than [`MIN_LENGTH`](Self::MIN_LENGTH), or has anything but visible
    /// ASCII characters. The message does not show it.
    ///
    /// ```
    /// use pointwork_admin::Token;
    ///
    /// assert!(Token::new("4uQ8cVfN1xW7kR2pZ9sT0b\n").is_ok());
    /// assert!(Token::new("secret").is_err());
    /// ```
    pub fn new(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if text.len() < Self::MIN_LENGTH {
            let message = format!(
                "a token of {} characters, expected {} or more",
                text.len(),
                Self::MIN_LENGTH
            );
            return Err(Error::new(ErrorKind::Token, message));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = "a token with other characters than the visible ones of ASCII";
            return Err(Error::new(ErrorKind::Token, message));
        }
        Ok(Self {
            digest: Sha256::digest(text).into(),
        })
    }

    /// Whether a request shows it. How long this takes does not tell how much of a wrong token is right.
    pub(crate) fn is_shown(&self, headers: &HeaderMap) -> bool {
        let shown = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, token)) = shown else {
            return false;
        };
        let digest: [u8; 32] = Sha256::digest(token.trim()).into();
        digest.ct_eq(&self.digest).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "4uQ8cVfN1xW7kR2pZ9sT0b";

    fn shown(value: &str) -> bool {
        let token = Token::new(TEXT).expect("long enough");
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, value.parse().expect("a header"));
        token.is_shown(&headers)
    }

    #[test]
    fn token_is_shown_as_a_bearer_in_any_case_of_the_scheme() {
        assert!(shown(&format!("Bearer {TEXT}")));
        assert!(shown(&format!("bearer  {TEXT}")));
    }

    #[test]
    fn anything_else_is_not_the_token() {
        for value in ["", "Bearer", "Bearer ", TEXT, "Basic 4uQ8cVfN1xW7kR2pZ9sT0b"] {
            assert!(!shown(value), "{value}");
        }
        assert!(!shown(&format!("Bearer {}", &TEXT[..TEXT.len() - 1])));
        assert!(!shown(&format!("Bearer {TEXT}x")));
    }

    #[test]
    fn short_or_invisible_token_is_refused_without_showing_it() {
        for text in ["hush", "                          ", "4uQ8cVfN1xW7kR2pZ9sT0ü"] {
            let error = Token::new(text).expect_err("no token");
            assert_eq!(error.kind(), ErrorKind::Token);
            assert!(!error.to_string().contains("hush"), "{error}");
        }
        assert_eq!(format!("{:?}", Token::new(TEXT).expect("a token")), "Token(…)");
    }
}
