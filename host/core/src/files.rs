//! Files that are read whole, within a limit.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file for reading, and nothing else: opening a FIFO waits for its writer. It blocks.
///
/// # Errors
/// The file cannot be opened, or is not a regular file. The message does not name the path.
pub fn open_file(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    expect_regular(fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    // Another file may have taken its place.
    expect_regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads a regular file of at most `most` bytes. It blocks.
///
/// Of a larger file it reads at most one byte more. It opens nothing but a regular file, as [`open_file`].
///
/// # Errors
/// The file cannot be read, is not a regular file, or is larger ([`FileTooLarge`](io::ErrorKind::FileTooLarge)). The message
/// does not name the path.
pub fn read_file(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let file = open_file(path)?;
    let metadata = file.metadata()?;
    let too_large = |size| {
        let message = format!("it has {size} bytes, expected at most {most}");
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    };
    if metadata.len() > most {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(metadata.len()).unwrap_or(usize::MAX))?;
    // It may grow meanwhile.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        size if size > most => Err(too_large(size)),
        _ => Ok(bytes),
    }
}

/// Reads a regular file of text, as [`read_file`] does.
///
/// # Errors
/// As [`read_file`], and [`InvalidData`](io::ErrorKind::InvalidData) if it is not UTF-8.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read_file(path, most)?);
    text.map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not UTF-8 from byte {at} on"))
    })
}

fn expect_regular(found: FileType) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let message = format!("it is {}, expected a regular file", kind_of(found));
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

fn kind_of(found: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if found.is_fifo() {
            return "a FIFO";
        }
        if found.is_socket() {
            return "a socket";
        }
        if found.is_char_device() || found.is_block_device() {
            return "a device";
        }
    }
    if found.is_dir() {
        "a directory"
    } else {
        "something else"
    }
}
