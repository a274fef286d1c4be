//! The place of the program in a module; `typescript/src/slot.ts` and `python/suite/slot.py` have it too.

use anyhow::{Context as _, Result, ensure};

pub(super) const MARK: usize = 32;
const LENGTH: usize = 4;
const CAPACITY: usize = 256 * 1024;
const FILL: u8 = 0xff;

/// The length of the whole slot.
pub(super) const SIZE: usize = MARK + LENGTH + CAPACITY;

fn mark() -> [u8; MARK] {
    std::array::from_fn(|at| u8::try_from((at * 37 + 11) % 251).expect("less than 251"))
}

/// Whether there is a slot at this place.
pub(super) fn is_at(bytes: &[u8], place: usize) -> bool {
    bytes.len() >= place + SIZE && bytes[place..].starts_with(&mark())
}

/// The place of the slot in which no program is.
///
/// # Errors
/// If there is none, or more than one.
pub(super) fn find(bytes: &[u8]) -> Result<usize> {
    let mark = mark();
    let places = memchr::memmem::find_iter(bytes, &mark).collect::<Vec<_>>();
    ensure!(
        places.len() == 1,
        "the place of the program is there {} times",
        places.len()
    );
    let slot = bytes
        .get(places[0]..places[0] + SIZE)
        .context("the place of the program is cut off")?;
    ensure!(
        slot[MARK..].iter().all(|&byte| byte == FILL),
        "the place of the program is in pieces"
    );
    Ok(places[0])
}

/// Writes the program into the slot at this place.
///
/// # Errors
/// If the program is too long.
pub(super) fn write(bytes: &mut [u8], place: usize, program: &[u8]) -> Result<()> {
    let length = program.len();
    ensure!(
        length <= CAPACITY,
        "the program has {length} bytes, expected at most {CAPACITY}"
    );
    let slot = &mut bytes[place + MARK..place + SIZE];
    slot[..LENGTH].copy_from_slice(&u32::try_from(length).expect("short").to_le_bytes());
    slot[LENGTH..LENGTH + length].copy_from_slice(program);
    Ok(())
}

/// Takes the program out of the slot at this place, where it stands behind [`MARK`].
pub(super) fn take(bytes: &mut [u8], place: usize) -> Vec<u8> {
    let slot = &mut bytes[place + MARK..place + SIZE];
    let program = slot.to_vec();
    slot.fill(FILL);
    program
}
