//! Runs a fuzz target over its seeds, `tests/fuzz/seeds/<target>`, and over mutations of them. A fuzzer runs the same
//! targets for as long as one likes (`tests/fuzz`); this takes a second, and needs nothing but the compiler.
//!
//! The mutations are the same in every run. `POINTWORK_FUZZ_SEED` selects others, `POINTWORK_FUZZ_CASES` sets their
//! number, and `POINTWORK_LONG=1` multiplies it by ten.

use std::any::Any;
use std::panic::catch_unwind;
use std::path::Path;

use fastrand::Rng;

/// The longest input, in bytes.
const LONGEST: usize = 16 * 1024;

/// Bytes that mean something in one of the formats.
const BYTES: &[u8] = b"\0\t\n\r \"#%&'*+,-./09:;=?@AZ[\\]_az{|}~\x7f\x80\xc3\xff";

/// Runs the target over its seeds, and over this number of mutations of the seeds.
///
/// # Panics
/// If the target panics; the message has the input. Also if there are no seeds.
pub fn run(name: &str, mutations: usize, target: fn(&[u8])) {
    let seeds = seeds(name);
    for (file, seed) in &seeds {
        check(&format!("the seed `{file}` of `{name}`"), seed, target);
    }
    let start = number("POINTWORK_FUZZ_SEED").unwrap_or(0);
    let long = std::env::var("POINTWORK_LONG").is_ok_and(|long| long == "1");
    let times = if long { 10 } else { 1 };
    let count = number("POINTWORK_FUZZ_CASES").unwrap_or(mutations as u64 * times);
    for case in 0..count {
        // Each case has a generator of its own, so that it is the same whatever runs before it.
        let mut random = Rng::with_seed(start.wrapping_mul(1 << 32).wrapping_add(case));
        let input = mutated(&seeds, &mut random);
        check(
            &format!("case {case} of `{name}` with POINTWORK_FUZZ_SEED={start}"),
            &input,
            target,
        );
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("`{variable}` is `{text}`, expected a number")),
    )
}

/// The seeds in the order of their names.
fn seeds(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(name);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()));
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let file = file.unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()));
        let bytes = std::fs::read(file.path()).unwrap_or_else(|error| panic!("`{}`: {error}", file.path().display()));
        (file.file_name().to_string_lossy().into_owned(), bytes)
    };
    let mut seeds: Vec<_> = files.map(read).collect();
    assert!(!seeds.is_empty(), "`{}` has no seeds", folder.display());
    seeds.sort();
    seeds
}

fn check(what: &str, input: &[u8], target: fn(&[u8])) {
    if let Err(panic) = catch_unwind(|| target(input)) {
        panic!(
            "{what} failed: {}\nthe input: \"{}\"",
            message(&*panic),
            input.escape_ascii()
        );
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic")
}

fn mutated(seeds: &[(String, Vec<u8>)], random: &mut Rng) -> Vec<u8> {
    let mut input = seeds[random.usize(..seeds.len())].1.clone();
    for _ in 0..random.usize(1..=6) {
        let other = &seeds[random.usize(..seeds.len())].1;
        mutate(&mut input, other, random);
    }
    input.truncate(LONGEST);
    input
}

fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Rng) {
    let at = random.usize(..=input.len());
    match random.u8(..8) {
        0 if at < input.len() => input[at] ^= 1 << random.u8(..8),
        1 if at < input.len() => input[at] = BYTES[random.usize(..BYTES.len())],
        2 => input.insert(at, BYTES[random.usize(..BYTES.len())]),
        3 => {
            let end = (at + random.usize(1..=16)).min(input.len());
            input.drain(at..end);
        }
        4 => {
            // The same again, several times.
            let end = (at + random.usize(1..=16)).min(input.len());
            let again = input[at..end].repeat(random.usize(1..=8));
            input.splice(at..at, again);
        }
        5 => {
            let piece = piece(other, random);
            input.splice(at..at, piece.iter().copied());
        }
        6 => {
            let end = (at + random.usize(..=16)).min(input.len());
            let piece = piece(other, random);
            input.splice(at..end, piece.iter().copied());
        }
        _ => {
            let number = [0, 1, 127, 128, 255, 256, 65_535, 65_536, u64::from(u32::MAX), u64::MAX];
            let text = number[random.usize(..number.len())].to_string();
            input.splice(at..at, text.bytes());
        }
    }
}

/// A part of a seed, often a word or a line of it.
fn piece<'s>(seed: &'s [u8], random: &mut Rng) -> &'s [u8] {
    let part = match random.u8(..3) {
        0 => seed.split(|byte| *byte == b'\n').nth(random.usize(..8)),
        1 => seed.split(|byte| !byte.is_ascii_alphanumeric()).nth(random.usize(..32)),
        _ => None,
    };
    part.unwrap_or_else(|| {
        let from = random.usize(..=seed.len());
        &seed[from..(from + random.usize(..=32)).min(seed.len())]
    })
}
