//! The target of the cache of compiled components: takes any bytes, and panics where a promise of the cache does not hold.
//! The runtime has it as a module, since the entries of the cache are private.

use super::*;

/// A component, a line end, and a change of the file that the cache wrote for it: `=` with another content, `+` with
/// bytes to append, `-` with the number of bytes to cut off, or `^` with pairs of a position and a mask. The cache gives
/// out what it wrote, and nothing else: only a [`CachedArtifact`] is ever loaded as code.
///
/// # Panics
/// If a promise does not hold.
pub(crate) fn cache_entry(input: &[u8]) {
    let newline = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (component, change) = (&input[..newline], &input[(newline + 1).min(input.len())..]);
    let above = tempfile::tempdir().expect("a directory can be made");
    let cache = CacheDirectory::open(above.path().join("cache")).expect("the directory is new");
    let entry = cache.entry(1, component);
    let artifact = [b"compiled from ", component].concat();
    entry.write(&artifact);
    let read = || entry.read().map(CachedArtifact::into_bytes);
    assert_eq!(read().as_deref(), Some(&*artifact));

    let whole = fs::read(&entry.path).expect("the entry was written");
    let changed = changed(whole.clone(), change);
    fs::write(&entry.path, &changed).expect("the directory can be written");
    let other = cache.entry(2, component);
    fs::write(&other.path, &changed).expect("the directory can be written");
    assert!(other.read().is_none(), "an entry of another engine");
    if changed == whole {
        assert_eq!(read().as_deref(), Some(&*artifact));
        return;
    }
    assert!(read().is_none(), "a damaged entry is used");
    assert!(!entry.path.exists(), "a damaged entry stays");
}

fn changed(mut file: Vec<u8>, change: &[u8]) -> Vec<u8> {
    match change {
        [b'=', bytes @ ..] => return bytes.to_vec(),
        [b'+', bytes @ ..] => file.extend(bytes),
        [b'-', count, ..] => file.truncate(file.len() - usize::from(*count).min(file.len())),
        [b'^', pairs @ ..] => {
            for pair in pairs.chunks_exact(2) {
                let position = usize::from(pair[0]) % file.len();
                file[position] ^= pair[1];
            }
        }
        _ => {}
    }
    file
}

#[cfg(test)]
mod tests {
    // Few, since the directory's files are synchronised with the disk.
    #[test]
    fn seeds_of_cache_entry() {
        pointwork_seeds::run("cache-entry", 24, super::cache_entry);
    }
}
