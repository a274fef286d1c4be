//! Receives components: within the limit, whole, and with the announced digest.

use std::time::Duration;

use axum::body::Body;
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;
use sfv::{BareItem, Dictionary, ListEntry, Parser};

use crate::problem::Problem;

/// Reads a component of at most `limit` bytes, without pauses longer than `pause`, and checks the digest of the headers.
pub(crate) async fn receive(
    headers: &HeaderMap,
    mut body: Body,
    limit: usize,
    pause: Duration,
) -> Result<Vec<u8>, Problem> {
    let received = try_receive(headers, &mut body, limit, pause).await;
    if received.is_err() {
        discard(headers, body, pause).await;
    }
    received
}

/// Reads the rest of a refused body, for a while: many clients read the reply only when they have sent everything, and
/// would see a broken connection instead.
pub(crate) async fn discard(headers: &HeaderMap, mut body: Body, time: Duration) {
    // The client waits for permission before it sends the body.
    if headers.contains_key(header::EXPECT) {
        return;
    }
    let rest = async { while let Some(Ok(_)) = body.frame().await {} };
    // The reply is sent either way.
    let _ = tokio::time::timeout(time, rest).await;
}

async fn try_receive(headers: &HeaderMap, body: &mut Body, limit: usize, pause: Duration) -> Result<Vec<u8>, Problem> {
    let expected = expected_digest(headers)?;
    let too_long = || {
        let message = format!("the component is larger than the limit of {limit} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(too_long());
    }
    let mut component = Vec::with_capacity(announced.unwrap_or_default());
    loop {
        let frame = tokio::time::timeout(pause, body.frame()).await.map_err(|_| {
            let message = format!("no byte of the component arrived for {pause:?}");
            Problem::new(StatusCode::REQUEST_TIMEOUT, message)
        })?;
        let Some(frame) = frame else { break };
        let frame = frame
            .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, format!("the component breaks off: {error}")))?;
        if let Ok(data) = frame.into_data() {
            if data.len() > limit - component.len() {
                return Err(too_long());
            }
            component.extend_from_slice(&data);
        }
    }
    if let Some(expected) = expected {
        check_digest(&component, &expected)?;
    }
    Ok(component)
}

fn check_digest(component: &[u8], expected: &[u8]) -> Result<(), Problem> {
    let found = pointwork::digest(component);
    let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
    if found == expected {
        return Ok(());
    }
    let message = format!("the component's SHA-256 is `{found}`, expected `{expected}`");
    Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, message).with_hint("it was damaged in transit; send it again"))
}

/// The SHA-256 of `Content-Digest` (RFC 9530). Digests of other kinds beside it are ignored.
fn expected_digest(headers: &HeaderMap) -> Result<Option<Vec<u8>>, Problem> {
    let values: Vec<&[u8]> = headers
        .get_all("content-digest")
        .iter()
        .map(http::HeaderValue::as_bytes)
        .collect();
    if values.is_empty() {
        return Ok(None);
    }
    let invalid = |what: String| {
        Problem::new(StatusCode::BAD_REQUEST, format!("the `Content-Digest` {what}"))
            .with_hint("expected `sha-256=:…:` with the digest in base64")
    };
    let digests: Dictionary = Parser::new(&values.join(&b", "[..]))
        .parse()
        .map_err(|error| invalid(format!("is invalid: {error}")))?;
    match digests.get("sha-256") {
        // Its client would believe that it was checked.
        None => Err(invalid("has no `sha-256`".to_owned())),
        Some(ListEntry::Item(item)) => match &item.bare_item {
            BareItem::ByteSequence(digest) if digest.len() == 32 => Ok(Some(digest.clone())),
            _ => Err(invalid("has a `sha-256` that is not a sequence of 32 bytes".to_owned())),
        },
        Some(ListEntry::InnerList(_)) => Err(invalid("has a list as its `sha-256`".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn headers(digest: &str) -> HeaderMap {
        HeaderMap::from_iter([(
            http::HeaderName::from_static("content-digest"),
            digest.parse().expect("a header"),
        )])
    }

    fn status(result: Result<Vec<u8>, Problem>) -> StatusCode {
        result.expect_err("it is refused").status
    }

    async fn send(headers: &HeaderMap, body: &'static str) -> Result<Vec<u8>, Problem> {
        receive(headers, Body::from(body), 8, Duration::from_secs(60)).await
    }

    /// A body without a byte or an end.
    fn never() -> Body {
        Body::from_stream(futures_util::stream::pending::<Result<&str, Infallible>>())
    }

    #[tokio::test]
    async fn component_up_to_the_limit_is_taken() {
        assert_eq!(send(&HeaderMap::new(), "12345678").await.expect("8 bytes"), b"12345678");
        let refused = status(send(&HeaderMap::new(), "123456789").await);
        assert_eq!(refused, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn announced_length_over_the_limit_is_refused_without_a_body() {
        let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, "9".parse().expect("a header"))]);
        let refused = status(receive(&headers, never(), 8, Duration::from_secs(30)).await);
        assert_eq!(refused, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn body_that_pauses_for_too_long_is_refused() {
        let refused = status(receive(&HeaderMap::new(), never(), 8, Duration::from_secs(30)).await);
        assert_eq!(refused, StatusCode::REQUEST_TIMEOUT);
    }

    #[tokio::test]
    async fn digest_is_compared_beside_one_of_another_kind() {
        let headers = headers("sha-512=:AAAA:, sha-256=:qfdNHsNuvesto/blhoCQzSotILPcynti9gMEsdPZ70I=:");
        assert!(send(&headers, "tea").await.is_ok());
        assert_eq!(status(send(&headers, "tee").await), StatusCode::UNPROCESSABLE_ENTITY);
    }

    #[tokio::test]
    async fn digest_of_another_kind_is_ignored_and_an_invalid_one_refused() {
        assert_eq!(
            status(send(&headers("sha-512=:AAAA:"), "tea").await),
            StatusCode::BAD_REQUEST
        );
        for wrong in ["sha-256", "sha-256=:AAAA:", "sha-256=\"tea\"", "sha-256=(:AAAA:)", "=:"] {
            assert_eq!(
                status(send(&headers(wrong), "tea").await),
                StatusCode::BAD_REQUEST,
                "{wrong}"
            );
        }
    }
}
