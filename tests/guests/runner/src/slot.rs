//! The place in the component into which the suite writes a guest, as JSON.
//!
//! `tests/suite/src/languages/slot.rs` finds the mark and writes the length and the text behind it. The slot is filled with
//! `0xff` because the linker leaves zeros out of the component.

use std::hint::black_box;
use std::iter;
use std::sync::OnceLock;

use serde_json::Value;

const MARK: usize = 32;
const LENGTH: usize = 4;
const CAPACITY: usize = 256 * 1024;

#[used]
static SLOT: [u8; MARK + LENGTH + CAPACITY] = {
    let mut slot = [0xff; MARK + LENGTH + CAPACITY];
    let mut at = 0;
    while at < MARK {
        slot[at] = ((at * 37 + 11) % 251) as u8;
        at += 1;
    }
    slot
};

/// The declarations and programs of a guest.
#[derive(Debug)]
pub struct GuestText {
    /// An object with the controllers and channels; `tests/suite/src/languages/program.rs` writes it.
    pub declared: Value,
}

impl GuestText {
    /// The program of a handler, by its number in the manifest.
    pub fn handler(&'static self, number: u32) -> &'static Value {
        self.program("controllers", "routes", number)
    }

    /// The program of a listener, by its number in the manifest.
    pub fn listener(&'static self, number: u32) -> &'static Value {
        self.program("channels", "listeners", number)
    }

    /// Handlers and listeners are numbered in the order of their declaration.
    fn program(&'static self, groups: &str, members: &str, number: u32) -> &'static Value {
        let mut all = repeated(&self.declared[groups]).flat_map(|group| repeated(&group[members]));
        let found = all.nth(number as usize).expect("the manifest has this number");
        &found["program"]
    }
}

/// The elements of an array; none if there is no such array.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The elements of an array, in which an entry `{"times": n, "of": element}` stands for `n` copies of `element`.
pub fn repeated(value: &Value) -> impl Iterator<Item = &Value> {
    list(value).iter().flat_map(|element| {
        let times = element["times"].as_u64();
        let element = times.map_or(element, |_| &element["of"]);
        iter::repeat_n(element, times.unwrap_or(1) as usize)
    })
}

/// The guest in the slot, which is parsed once for each instance.
pub fn guest() -> &'static GuestText {
    static GUEST: OnceLock<GuestText> = OnceLock::new();
    GUEST.get_or_init(|| {
        // The compiler must not take the contents of the static for those of the component.
        let slot = &black_box(&SLOT)[MARK..];
        let (length, text) = slot.split_at(LENGTH);
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        let text = text.get(..length).expect("the suite writes a guest into the component");
        GuestText {
            declared: serde_json::from_slice(text).expect("the suite writes JSON"),
        }
    })
}
