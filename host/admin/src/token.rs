//! The secret of clients that connect to an address.

use std::fmt;

use http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{Error, ErrorKind};

/// A secret that every request needs, as `Authorization: Bearer …`.
///
/// It allows to replace the code that serves, so protect it like a private key. It is never printed.
#[derive(Clone)]
pub struct Token {
    /// Only the digest is stored and compared: its length does not depend on the token.
    digest: [u8; 32],
}

impl Token {
    /// The smallest number of characters: 128 random bits in base64.
    pub const MIN_LENGTH: usize = 22;

    /// A token of the text without the white space around it.
    ///
    /// # Errors
    /// [`Token`](ErrorKind::Token) if it is shorter than [`MIN_LENGTH`](Self::MIN_LENGTH), or has other characters than
    /// visible ASCII. The message does not show the text.
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
            let (length, least) = (text.len(), Self::MIN_LENGTH);
            let message = format!("the token has {length} characters, expected {least} or more");
            return Err(Error::new(ErrorKind::Token, message));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = "the token has other characters than visible ASCII";
            return Err(Error::new(ErrorKind::Token, message));
        }
        Ok(Self {
            digest: Sha256::digest(text).into(),
        })
    }

    /// Whether a request has the token. The time of the comparison does not depend on the token of the request.
    pub(crate) fn authorizes(&self, headers: &HeaderMap) -> bool {
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
        token.authorizes(&headers)
    }

    #[test]
    fn token_is_a_bearer_in_any_case_of_the_scheme() {
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
