//! The values of the contract in linear memory.

use std::alloc::{Layout, dealloc};

/// The memory of lists that were written for the other side. It must live until the other side has read them.
pub(crate) type Lists = Vec<Vec<u64>>;

/// A value that is written to linear memory.
pub(crate) trait Lower {
    const SIZE: usize;
    const ALIGN: usize;

    /// Writes the value; strings and lists are written as pointers into `self` and into `lists`.
    ///
    /// # Safety
    ///
    /// `to` is aligned and has `SIZE` zeroed bytes.
    unsafe fn store(&self, to: *mut u8, lists: &mut Lists);
}

/// A value that is read from linear memory.
pub(crate) trait Lift: Lower + Sized {
    /// Reads a value, and takes the memory of its strings and lists over.
    ///
    /// # Safety
    ///
    /// The other side wrote a value of this type to `from`, and nothing else reads it.
    unsafe fn load(from: *const u8) -> Self;
}

pub(crate) const fn aligned(at: usize, align: usize) -> usize {
    at.next_multiple_of(align)
}

/// The largest of some sizes or alignments.
pub(crate) const fn largest(all: &[usize]) -> usize {
    let (mut largest, mut at) = (0, 0);
    while at < all.len() {
        if all[at] > largest {
            largest = all[at];
        }
        at += 1;
    }
    largest
}

/// The size of a record whose fields have these sizes and alignments.
pub(crate) const fn record_size(fields: &[(usize, usize)]) -> usize {
    let (mut size, mut align, mut at) = (0, 1, 0);
    while at < fields.len() {
        size = aligned(size, fields[at].1) + fields[at].0;
        align = largest(&[align, fields[at].1]);
        at += 1;
    }
    aligned(size, align)
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl Lower for $ty {
            const SIZE: usize = size_of::<$ty>();
            const ALIGN: usize = size_of::<$ty>();

            unsafe fn store(&self, to: *mut u8, _lists: &mut Lists) {
                // SAFETY: `to` has the size and alignment of the number.
                unsafe { to.cast::<$ty>().write(*self) }
            }
        }

        impl Lift for $ty {
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: the other side wrote a number.
                unsafe { from.cast::<$ty>().read() }
            }
        }
    )*};
}

numbers! { u16 u32 u64 }

impl Lower for bool {
    const SIZE: usize = 1;
    const ALIGN: usize = 1;

    unsafe fn store(&self, to: *mut u8, _lists: &mut Lists) {
        // SAFETY: there is room for the byte.
        unsafe { to.write(u8::from(*self)) }
    }
}

/// Writes a pointer and a length.
unsafe fn store_slice(pointer: *const u8, length: usize, to: *mut u8) {
    // SAFETY: a string or list has two words.
    unsafe { to.cast::<[usize; 2]>().write([pointer.addr(), length]) }
}

/// Reads a pointer and a length; `None` for an empty list, which has no memory.
unsafe fn load_slice(from: *const u8) -> Option<(*mut u8, usize)> {
    // SAFETY: a string or list has two words.
    let [pointer, length] = unsafe { from.cast::<[usize; 2]>().read() };
    (length > 0).then(|| (std::ptr::with_exposed_provenance_mut(pointer), length))
}

/// The layout of a string or list.
macro_rules! slice_layout {
    () => {
        const SIZE: usize = 8;
        const ALIGN: usize = 4;
    };
}

/// Implements a type by the type that it dereferences to.
macro_rules! owned {
    ($([$($generic:tt)*] $ty:ty: $target:ty;)*) => {$(
        impl<$($generic)*> Lower for $ty {
            slice_layout!();

            unsafe fn store(&self, to: *mut u8, lists: &mut Lists) {
                // SAFETY: as for this function.
                unsafe { <$target as Lower>::store(self, to, lists) }
            }
        }
    )*};
}

owned! {
    [] String: str;
    [] Vec<u8>: [u8];
    [T: Lower] Vec<T>: [T];
}

impl Lower for str {
    slice_layout!();

    unsafe fn store(&self, to: *mut u8, _lists: &mut Lists) {
        // SAFETY: as for this function.
        unsafe { store_slice(self.as_ptr(), self.len(), to) }
    }
}

impl Lower for [u8] {
    slice_layout!();

    unsafe fn store(&self, to: *mut u8, _lists: &mut Lists) {
        // SAFETY: as for this function.
        unsafe { store_slice(self.as_ptr(), self.len(), to) }
    }
}

impl<T: Lower> Lower for [T] {
    slice_layout!();

    unsafe fn store(&self, to: *mut u8, lists: &mut Lists) {
        // Zeroed, and aligned for every type.
        let mut list = vec![0_u64; (self.len() * T::SIZE).div_ceil(8)];
        let first = list.as_mut_ptr().cast::<u8>();
        for (index, value) in self.iter().enumerate() {
            // SAFETY: `list` has room for each value.
            unsafe { value.store(first.add(index * T::SIZE), lists) };
        }
        // SAFETY: as for this function.
        unsafe { store_slice(first, self.len(), to) };
        lists.push(list);
    }
}

impl Lift for Vec<u8> {
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the other side allocated the list by `cabi_realloc` for this side.
        unsafe {
            load_slice(from).map_or_else(Self::new, |(first, length)| Self::from_raw_parts(first, length, length))
        }
    }
}

impl Lift for String {
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the runtime checks that a string is UTF-8.
        unsafe { Self::from_utf8_unchecked(Vec::load(from)) }
    }
}

impl<T: Lift> Lift for Vec<T> {
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the other side allocated the list by `cabi_realloc` for this side, and wrote that many values.
        unsafe {
            let Some((first, length)) = load_slice(from) else {
                return Self::new();
            };
            let values = (0..length).map(|index| T::load(first.add(index * T::SIZE))).collect();
            dealloc(first, Layout::from_size_align_unchecked(length * T::SIZE, T::ALIGN));
            values
        }
    }
}

impl<T: Lower + ?Sized> Lower for &T {
    const SIZE: usize = T::SIZE;
    const ALIGN: usize = T::ALIGN;

    unsafe fn store(&self, to: *mut u8, lists: &mut Lists) {
        // SAFETY: as for this function.
        unsafe { (**self).store(to, lists) }
    }
}

impl Lower for () {
    const SIZE: usize = 0;
    const ALIGN: usize = 1;

    unsafe fn store(&self, _to: *mut u8, _lists: &mut Lists) {}
}

impl Lift for () {
    unsafe fn load(_from: *const u8) -> Self {}
}

// The value of a case follows the number of the case, at the alignment of the whole.

impl<T: Lower> Lower for Option<T> {
    const SIZE: usize = record_size(&[(1, 1), (T::SIZE, T::ALIGN)]);
    const ALIGN: usize = T::ALIGN;

    unsafe fn store(&self, to: *mut u8, lists: &mut Lists) {
        if let Some(value) = self {
            // SAFETY: the size is that of the number of the case and the value.
            unsafe {
                to.write(1);
                value.store(to.add(Self::ALIGN), lists);
            }
        }
    }
}

impl<T: Lift> Lift for Option<T> {
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as for this function.
        unsafe { (from.read() == 1).then(|| T::load(from.add(Self::ALIGN))) }
    }
}

impl<T: Lower, E: Lower> Lower for Result<T, E> {
    const SIZE: usize = {
        let align = Self::ALIGN;
        record_size(&[(1, 1), (largest(&[T::SIZE, E::SIZE]), align)])
    };
    const ALIGN: usize = largest(&[T::ALIGN, E::ALIGN]);

    unsafe fn store(&self, to: *mut u8, lists: &mut Lists) {
        // SAFETY: the size is that of the number of the case and the larger value.
        unsafe {
            let value = to.add(Self::ALIGN);
            match self {
                Ok(ok) => ok.store(value, lists),
                Err(error) => {
                    to.write(1);
                    error.store(value, lists);
                }
            }
        }
    }
}

impl<T: Lift, E: Lift> Lift for Result<T, E> {
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: as for this function.
        unsafe {
            let value = from.add(Self::ALIGN);
            if from.read() == 0 {
                Ok(T::load(value))
            } else {
                Err(E::load(value))
            }
        }
    }
}
