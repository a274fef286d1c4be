//! Texts, bytes and the pointers of callbacks.

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use crate::error::PwError;

/// A text in UTF-8 that ends in a zero byte.
pub type PwText = *const c_char;

/// Bytes that belong to somebody else.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PwBytes {
    /// The first byte; may be NULL if there are none.
    pub data: *const u8,
    /// Their number.
    pub size: usize,
}

/// Gets `user` after the last call of its callback.
pub type PwDrop = Option<extern "C" fn(user: *mut c_void)>;

/// Is told that nobody waits for an answer or a chunk of a body any more.
pub type PwGone = Option<extern "C" fn(user: *mut c_void)>;

/// Gets the result of an operation: NULL for success, otherwise an error, which it has to free. It is called exactly
/// once, on any thread.
pub type PwDone = Option<extern "C" fn(user: *mut c_void, error: Option<Box<PwError>>)>;

/// A text that may be NULL.
pub(crate) fn optional_text<'a>(text: PwText, name: &str) -> Result<Option<&'a str>, Box<PwError>> {
    if text.is_null() {
        return Ok(None);
    }
    let text = str::from_utf8(any_text(text, name)?);
    let text = text.map_err(|_| PwError::argument(name, "a text in UTF-8"))?;
    Ok(Some(text))
}

/// A text in any encoding.
pub(crate) fn any_text<'a>(text: PwText, name: &str) -> Result<&'a [u8], Box<PwError>> {
    if text.is_null() {
        return Err(PwError::null(name));
    }
    // SAFETY: the header demands a text that ends in a zero byte and lives for the call.
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes())
}

pub(crate) fn text<'a>(text: PwText, name: &str) -> Result<&'a str, Box<PwError>> {
    optional_text(text, name)?.ok_or_else(|| PwError::null(name))
}

pub(crate) fn given<T>(value: Option<T>, name: &str) -> Result<T, Box<PwError>> {
    value.ok_or_else(|| PwError::null(name))
}

/// The output parameter of a function. It is zero from now on: after an error it holds no pointer that somebody might
/// free.
pub(crate) fn output<'a, T>(
    output: Option<&'a mut MaybeUninit<T>>,
    name: &str,
) -> Result<&'a mut MaybeUninit<T>, Box<PwError>> {
    let output = given(output, name)?;
    *output = MaybeUninit::zeroed();
    Ok(output)
}

impl PwBytes {
    pub(crate) const NONE: Self = Self {
        data: ptr::null(),
        size: 0,
    };

    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self {
            data: bytes.as_ptr(),
            size: bytes.len(),
        }
    }

    pub(crate) fn get<'a>(self, name: &str) -> Result<&'a [u8], Box<PwError>> {
        match (self.data.is_null(), self.size) {
            (_, 0) => Ok(&[]),
            (true, _) => Err(PwError::null(name)),
            (false, size) if isize::try_from(size).is_err() => {
                Err(PwError::argument(name, "a size of at most SSIZE_MAX"))
            }
            // SAFETY: the header demands that so many bytes are there for the call.
            (false, size) => Ok(unsafe { std::slice::from_raw_parts(self.data, size) }),
        }
    }
}

/// The pointer of a callback, and its destructor.
#[derive(Debug)]
pub(crate) struct User {
    pointer: *mut c_void,
    drop: PwDrop,
}

// SAFETY: the header says that callbacks are called on any thread, so `user` has to bear it.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}

impl User {
    pub(crate) fn new(pointer: *mut c_void, drop: PwDrop) -> Self {
        Self { pointer, drop }
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointer
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            drop(self.pointer);
        }
    }
}

/// A text for the caller, which frees it with `pw_text_free`.
pub(crate) fn owned(text: &str) -> *mut c_char {
    c_text(text).into_raw()
}

/// A text of C, which ends at a zero byte: one within the text is replaced.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Frees a text that a function returned. NULL is nothing.
///
/// # Safety
/// It is a text that a function of this library returned, and is freed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pw_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: `owned` made it, and it is freed once.
        drop(unsafe { CString::from_raw(text) });
    }
}
