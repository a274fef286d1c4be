//! Calls across the boundary.

use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr;

use wit_bindgen::rt::async_support::Subtask;

use super::values::{Lift, Lists, Lower};

/// Writes a parameter to the words at `at`. Returns the place of the next parameter.
pub(crate) fn lower<T: Lower>(value: &T, words: &mut [u32], at: usize, lists: &mut Lists) -> usize {
    let end = at + T::SIZE.div_ceil(4);
    // SAFETY: the words are zeroed, and their alignment fits, since no parameter has a larger one.
    unsafe { value.store(words[at..end].as_mut_ptr().cast(), lists) };
    end
}

/// The words of all parameters, and the memory of their lists.
macro_rules! lower_all {
    ($($value:expr),*) => {{
        #[allow(unused_mut, reason = "a function may have no parameter")]
        let (mut words, mut lists, mut at) = ([0_u32; _], $crate::abi::Lists::new(), 0);
        $(at = $crate::abi::lower(&$value, &mut words, at, &mut lists);)*
        debug_assert_eq!(at, words.len());
        (words, lists)
    }};
}

/// Calls an imported function.
macro_rules! import {
    ($module:literal $link:literal [$($word:ident)*] ($($value:expr),*) -> $result:ty) => {{
        #[link(wasm_import_module = $module)]
        unsafe extern "C" {
            #[link_name = $link]
            fn import($($word: u32,)* result: *mut u8);
        }
        let ([$($word),*], _lists) = $crate::abi::lower_all!($($value),*);
        let mut result = [0_u64; <$result as $crate::abi::Lower>::SIZE.div_ceil(8)];
        let result = result.as_mut_ptr().cast();
        // SAFETY: the host reads the words during the call, and writes the result.
        unsafe {
            import($($word,)* result);
            <$result as $crate::abi::Lift>::load(result)
        }
    }};
    ($module:literal $link:literal [$($word:ident)*] ($($value:expr),*) => bool) => {
        $crate::abi::import!($module $link [$($word)*] ($($value),*) => u32) != 0
    };
    ($module:literal $link:literal [$($word:ident)*] ($($value:expr),*) => u32) => {{
        #[link(wasm_import_module = $module)]
        unsafe extern "C" {
            #[link_name = $link]
            fn import($($word: u32),*) -> u32;
        }
        let ([$($word),*], _lists) = $crate::abi::lower_all!($($value),*);
        // SAFETY: the host reads the words during the call.
        unsafe { import($($word),*) }
    }};
    ($module:literal $link:literal [$($word:ident)*] ($($value:expr),*)) => {{
        #[link(wasm_import_module = $module)]
        unsafe extern "C" {
            #[link_name = $link]
            fn import($($word: u32),*);
        }
        let ([$($word),*], _lists) = $crate::abi::lower_all!($($value),*);
        // SAFETY: the host reads the words during the call.
        unsafe { import($($word),*) }
    }};
}

/// Starts an imported function that waits. Returns its state.
macro_rules! import_waiting {
    ($module:literal $link:literal [in memory $count:literal] $words:ident $result:ident -> $ty:ty) => {{
        #[link(wasm_import_module = $module)]
        unsafe extern "C" {
            #[link_name = $link]
            fn import(parameters: *const [u32; $count], result: *mut u8) -> u32;
        }
        // SAFETY: the words and the result stay in place until the call has ended.
        unsafe { import(&raw const $words, $result) }
    }};
    ($module:literal $link:literal [$($word:ident)*] $words:ident $result:ident -> $ty:ty) => {{
        #[link(wasm_import_module = $module)]
        unsafe extern "C" {
            #[link_name = $link]
            fn import($($word: u32,)* result: *mut u8) -> u32;
        }
        let [$($word),*] = $words;
        // SAFETY: the result stays in place until the call has ended.
        unsafe { import($($word,)* $result) }
    }};
    ($module:literal $link:literal [$($word:ident)*] $words:ident $_result:ident) => {{
        #[link(wasm_import_module = $module)]
        unsafe extern "C" {
            #[link_name = $link]
            fn import($($word: u32),*) -> u32;
        }
        let [$($word),*] = $words;
        // SAFETY: the parameters are words.
        unsafe { import($($word),*) }
    }};
}

pub(crate) use {import, import_waiting, lower_all};

/// Waits for an imported function. `start` begins the call, which writes the result to its argument; it owns the
/// parameters, which therefore live as long as the call.
pub(crate) async fn wait<T: Lift>(start: impl FnMut(*mut u8) -> u32) -> T {
    Waiting {
        start,
        result: PhantomData,
    }
    .call(())
    .await
}

struct Waiting<F, T> {
    start: F,
    result: PhantomData<T>,
}

// SAFETY: the layout is that of the result, and the parameters are in `start`.
unsafe impl<F: FnMut(*mut u8) -> u32, T: Lift> Subtask for Waiting<F, T> {
    type Params = ();
    type ParamsLower = ();
    type Results = T;

    fn abi_layout(&mut self) -> Layout {
        // SAFETY: sizes and alignments of the contract are valid.
        unsafe { Layout::from_size_align_unchecked(T::SIZE, T::ALIGN) }
    }

    fn results_offset(&mut self) -> usize {
        0
    }

    unsafe fn call_import(&mut self, (): (), result: *mut u8) -> u32 {
        (self.start)(result)
    }

    unsafe fn params_lower(&mut self, (): (), _memory: *mut u8) {}

    unsafe fn params_dealloc_lists(&mut self, (): ()) {}

    unsafe fn params_dealloc_lists_and_own(&mut self, (): ()) {}

    unsafe fn results_lift(&mut self, result: *mut u8) -> T {
        // SAFETY: the call wrote the result.
        unsafe { T::load(result) }
    }
}

/// The result of an export, which the host reads before it gives the memory back.
#[repr(C)]
struct Given<T, const WORDS: usize> {
    words: [u32; WORDS],
    value: T,
    lists: Lists,
}

/// Returns a value from an export, as a pointer to its words.
pub(crate) fn give<T: Lower, const WORDS: usize>(value: T) -> *mut u8 {
    const { assert!(T::SIZE == WORDS * 4 && T::ALIGN == 4) };
    let given = Box::leak(Box::new(Given {
        words: [0; WORDS],
        value,
        lists: Lists::new(),
    }));
    // SAFETY: there is room for the value.
    unsafe { given.value.store(given.words.as_mut_ptr().cast(), &mut given.lists) };
    ptr::from_mut(given).cast()
}

/// Frees what [`give`] returned.
///
/// # Safety
///
/// `give` returned the pointer for the same types, and the host gives it back once.
pub(crate) unsafe fn take_back<T, const WORDS: usize>(given: *mut u8) {
    // SAFETY: `give` leaked a box of this type.
    drop(unsafe { Box::from_raw(given.cast::<Given<T, WORDS>>()) });
}
