//! Bodies of several parts, read as they arrive.

mod source;

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as Task, Poll};

use futures_util::Stream as _;
use http::HeaderMap;
use http::header::CONTENT_DISPOSITION;
use multer::Field;

use crate::failure::Failure;
use crate::form::{Async, Blocking, ModuleForm};
use crate::json::check_name;
use crate::request::Request;
use crate::request::check_charset;
use crate::stream::BodyReader;
use crate::waiting::now;
use pointwork_events::json::{essence, without_mark};

use source::{Progress, Source};

/// The longest boundary, as RFC 2046 says.
const LONGEST_BOUNDARY: usize = 70;

/// The most parts of a body: a part may have no more than its head, which takes far longer to read than to send.
const MOST_PARTS: usize = 1_000;

/// A body of the type `multipart/form-data`, as browsers send forms with files: an argument of a handler of the synchronous
/// form, instead of the body. Needs the feature `multipart`.
///
/// The parts are read as they arrive, one after the other, if the route has `body = "stream"`; otherwise the host holds the
/// whole body already. No part is kept: a handler reads a part before it takes the next one, and what it does not read is
/// skipped. A body of another type is refused with 415, one that is malformed or ends early with 400; so is a part without a
/// name, or with one that is not UTF-8 or is `__proto__`. A body has 1,000 parts at most, and one with more is refused with 413.
///
/// ```
/// use pointwork_guest::testing::TestRequest;
/// use pointwork_guest::{Failure, Multipart, controller};
///
/// struct Files;
///
/// #[controller("files")]
/// impl Files {
///     #[post(body = "stream")]
///     fn upload(mut form: Multipart) -> Result<String, Failure> {
///         let mut told = String::new();
///         while let Some(mut part) = form.next_part()? {
///             let name = part.name().to_owned();
///             match part.file_name().map(str::to_owned) {
///                 Some(file) => {
///                     let mut bytes = 0;
///                     while let Some(chunk) = part.read()? {
///                         bytes += chunk.len();
///                     }
///                     told += &format!("{name}: {file} of {bytes} bytes; ");
///                 }
///                 None => told += &format!("{name}: {}; ", part.text(1000)?),
///             }
///         }
///         Ok(told)
///     }
/// }
///
/// let request = TestRequest::post("/files").part("title", "tea").file("image", "tea.png", "image/png", b"PNG");
/// assert_eq!(request.run::<Files>().text(), "title: tea; image: tea.png of 3 bytes; ");
/// ```
pub struct Multipart<F = Blocking> {
    body: multer::Multipart<'static>,
    /// The part that was given out last.
    current: Option<Field<'static>>,
    /// How many parts began.
    count: usize,
    progress: Rc<Progress>,
    form: PhantomData<F>,
}

/// The body of several parts in the asynchronous form: functions that wait are `async`.
///
/// ```
/// use pointwork_guest::testing::TestRequest;
/// use pointwork_guest::{AsyncMultipart, Failure, controller};
///
/// struct Files;
///
/// #[controller("files")]
/// impl Files {
///     #[post(body = "stream")]
///     async fn upload(mut form: AsyncMultipart) -> Result<String, Failure> {
///         let mut bytes = 0;
///         while let Some(mut part) = form.next_part().await? {
///             while let Some(chunk) = part.read().await? {
///                 bytes += chunk.len();
///             }
///         }
///         Ok(bytes.to_string())
///     }
/// }
///
/// let request = TestRequest::post("/files").part("title", "tea").file("image", "tea.png", "image/png", b"PNG");
/// assert_eq!(request.run::<Files>().text(), "6");
/// ```
pub type AsyncMultipart = Multipart<Async>;

impl<F: ModuleForm> Multipart<F> {
    /// Opens the body.
    pub(crate) fn open(request: &Request) -> Result<Self, Failure> {
        let boundary = boundary(request)?;
        let reader = request.raw.open_body().map_err(Failure::from_call("open_body"))?;
        let progress = Rc::new(Progress::default());
        let source = Source::new(BodyReader::<F>::new(reader), Rc::clone(&progress));
        Ok(Self {
            body: multer::Multipart::new(source, boundary),
            current: None,
            count: 0,
            progress,
            form: PhantomData,
        })
    }

    /// The same; `None` if the request has no `content-type`.
    pub(crate) fn open_optional(request: &Request) -> Result<Option<Self>, Failure> {
        let is_there = request.header("content-type").is_some();
        is_there.then(|| Self::open(request)).transpose()
    }

    async fn next(&mut self) -> Result<Option<Part<'_, F>>, Failure> {
        // multer would skip it too, but it cannot tell a long part from a long head.
        while self.current.is_some() && self.chunk().await?.is_some() {}
        self.current = None;
        let (body, progress) = (&mut self.body, &self.progress);
        progress.begin_head();
        self.current = progress.drive(|task| body.poll_next_field(task)).await?;
        self.progress.end_head();
        if let Some(field) = &self.current {
            self.count += 1;
            if self.count > MOST_PARTS {
                let message = format!("body: there are too many parts, expected {MOST_PARTS} at most");
                return Err(Failure::new(413_u16, message));
            }
            check_head(field)?;
        }
        Ok(self.current.is_some().then_some(Part(self)))
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(field) = &mut self.current else {
            return Ok(None);
        };
        loop {
            let next = self
                .progress
                .drive(|task| Pin::new(&mut *field).poll_next(task).map(Option::transpose));
            match next.await? {
                // multer gives an empty chunk for an empty rest.
                Some(chunk) if chunk.is_empty() => {}
                other => return Ok(other.map(Vec::from)),
            }
        }
    }

    async fn all(&mut self, most: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if chunk.len() > most.saturating_sub(bytes.len()) {
                let message = format!(
                    "body: part `{}` is too large, expected {most} bytes at most",
                    self.name()
                );
                return Err(Failure::new(413_u16, message));
            }
            bytes.extend(chunk);
        }
        Ok(bytes)
    }

    async fn text(&mut self, most: usize) -> Result<String, Failure> {
        let content_type = self.current.as_ref().and_then(Field::content_type);
        if let Some(content_type) = content_type {
            check_charset(content_type.as_ref(), &format!("part `{}`: ", self.name()))?;
        }
        let mut bytes = self.all(most).await?;
        bytes.drain(..bytes.len() - without_mark(&bytes).len());
        String::from_utf8(bytes).map_err(|error| {
            let message = format!("body: part `{}` is not UTF-8: {}", self.name(), error.utf8_error());
            Failure::new(400_u16, message)
        })
    }
}

impl<F> Multipart<F> {
    /// The name of the part that was given out last.
    fn name(&self) -> &str {
        self.current.as_ref().and_then(Field::name).unwrap_or_default()
    }
}

impl Multipart<Blocking> {
    /// The next part; `None` at the end. What is left of the part before is skipped.
    ///
    /// # Errors
    ///
    /// 400 if the body is malformed or ends early; 413 behind 1,000 parts; `gone` if the client disconnected; `too-large` if the
    /// body is over the host's limit.
    pub fn next_part(&mut self) -> Result<Option<Part<'_>>, Failure> {
        now(self.next())
    }
}

impl Multipart<Async> {
    /// The next part; `None` at the end. What is left of the part before is skipped.
    ///
    /// # Errors
    ///
    /// 400 if the body is malformed or ends early; 413 behind 1,000 parts; `gone` if the client disconnected; `too-large` if the
    /// body is over the host's limit.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may lose a part.
    pub async fn next_part(&mut self) -> Result<Option<Part<'_, Async>>, Failure> {
        self.next().await
    }
}

/// One part of a [`Multipart`] body.
pub struct Part<'a, F = Blocking>(&'a mut Multipart<F>);

impl<F> Part<'_, F> {
    /// The name of the field.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The name of the file on the client's machine; `None` if the part is no file. It is the client's text: it may be a
    /// path, and two parts may have the same.
    pub fn file_name(&self) -> Option<&str> {
        self.field()?.file_name()
    }

    /// The content type; `None` if the client sent none, or one that is malformed.
    pub fn content_type(&self) -> Option<&str> {
        self.field()?.content_type().map(AsRef::as_ref)
    }

    /// The headers of the part.
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.field().map(Field::headers)
    }

    fn field(&self) -> Option<&Field<'static>> {
        self.0.current.as_ref()
    }
}

impl Part<'_, Blocking> {
    /// The next chunk of the content; `None` at the end.
    ///
    /// # Errors
    ///
    /// As for [`Multipart::next_part`].
    pub fn read(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        now(self.0.chunk())
    }

    /// The whole content.
    ///
    /// # Errors
    ///
    /// 413 if it has more than `most` bytes; as for [`Multipart::next_part`].
    pub fn bytes(self, most: usize) -> Result<Vec<u8>, Failure> {
        now(self.0.all(most))
    }

    /// The whole content as text, without a byte order mark.
    ///
    /// # Errors
    ///
    /// As for [`bytes`](Self::bytes); 400 if it is not UTF-8; 415 if its content type has another charset.
    pub fn text(self, most: usize) -> Result<String, Failure> {
        now(self.0.text(most))
    }
}

impl Part<'_, Async> {
    /// The next chunk of the content; `None` at the end.
    ///
    /// # Errors
    ///
    /// As for [`Multipart::next_part`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may lose a chunk.
    pub async fn read(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        self.0.chunk().await
    }

    /// The whole content.
    ///
    /// # Errors
    ///
    /// 413 if it has more than `most` bytes; as for [`Multipart::next_part`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the content.
    pub async fn bytes(self, most: usize) -> Result<Vec<u8>, Failure> {
        self.0.all(most).await
    }

    /// The whole content as text, without a byte order mark.
    ///
    /// # Errors
    ///
    /// As for [`bytes`](Self::bytes); 400 if it is not UTF-8; 415 if its content type has another charset.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the content.
    pub async fn text(self, most: usize) -> Result<String, Failure> {
        self.0.text(most).await
    }
}

impl<F> fmt::Debug for Multipart<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Multipart")
    }
}

impl<F> fmt::Debug for Part<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

fn boundary(request: &Request) -> Result<String, Failure> {
    let content_type = request.header("content-type").unwrap_or_default();
    if !essence(&content_type).eq_ignore_ascii_case("multipart/form-data") {
        let message = format!("body: expected `content-type: multipart/form-data`, got `{content_type}`");
        return Err(Failure::new(415_u16, message));
    }
    let boundary = multer::parse_boundary(&content_type).ok();
    let boundary = boundary.filter(|boundary| (1..=LONGEST_BOUNDARY).contains(&boundary.len()));
    boundary.ok_or_else(|| {
        let expected = format!("expected a boundary of 1 to {LONGEST_BOUNDARY} characters");
        Failure::new(400_u16, format!("body: {expected} in `content-type: {content_type}`"))
    })
}

/// Refuses a part without a name, which RFC 7578 requires. multer takes an empty line at the beginning of a part for its whole
/// head, with what follows up to the next empty line, and ignores names that are not UTF-8.
fn check_head(field: &Field<'_>) -> Result<(), Failure> {
    let head = field.headers().get(CONTENT_DISPOSITION);
    let problem = match head.map(|value| str::from_utf8(value.as_bytes())) {
        None => "has no header `content-disposition`",
        Some(Err(_)) => "has a header `content-disposition` that is not UTF-8",
        Some(Ok(_)) => match field.name() {
            None => "has no name",
            Some(name) => {
                return check_name(name.bytes()).map_err(|problem| Failure::new(400_u16, format!("body: {problem}")));
            }
        },
    };
    let expected = "expected `content-disposition: form-data; name=\"…\"` in UTF-8";
    Err(Failure::new(400_u16, format!("body: a part {problem}, {expected}")))
}

impl Progress {
    /// Polls until the body is really pending.
    async fn drive<T>(&self, mut poll: impl FnMut(&mut Task<'_>) -> Poll<multer::Result<T>>) -> Result<T, Failure> {
        poll_fn(|task| {
            loop {
                match poll(task) {
                    Poll::Pending if self.let_read() => {}
                    polled => return polled.map_err(source::failure),
                }
            }
        })
        .await
    }
}
