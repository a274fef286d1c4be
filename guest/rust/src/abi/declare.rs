//! The macros with which the bindings declare the contract.

/// Declares a record.
macro_rules! record {
    ($name:ident { $($field:ident: $ty:ty,)* }) => {
        #[derive(Clone, Debug)]
        pub struct $name {
            $(pub $field: $ty,)*
        }

        #[cfg(target_arch = "wasm32")]
        impl $crate::abi::Lower for $name {
            const SIZE: usize = $crate::abi::record_size(&[
                $((<$ty as $crate::abi::Lower>::SIZE, <$ty as $crate::abi::Lower>::ALIGN)),*
            ]);
            const ALIGN: usize = $crate::abi::largest(&[$(<$ty as $crate::abi::Lower>::ALIGN),*]);

            unsafe fn store(&self, to: *mut u8, lists: &mut $crate::abi::Lists) {
                let mut at = 0;
                $(
                    at = $crate::abi::aligned(at, <$ty as $crate::abi::Lower>::ALIGN);
                    // SAFETY: the size of the record includes the field.
                    unsafe { $crate::abi::Lower::store(&self.$field, to.add(at), lists) };
                    at += <$ty as $crate::abi::Lower>::SIZE;
                )*
                debug_assert!(at <= <Self as $crate::abi::Lower>::SIZE);
            }
        }

        #[cfg(target_arch = "wasm32")]
        impl $crate::abi::Lift for $name {
            unsafe fn load(from: *const u8) -> Self {
                let mut at = 0;
                $(
                    at = $crate::abi::aligned(at, <$ty as $crate::abi::Lower>::ALIGN);
                    // SAFETY: the size of the record includes the field.
                    let $field = unsafe { <$ty as $crate::abi::Lift>::load(from.add(at)) };
                    at += <$ty as $crate::abi::Lower>::SIZE;
                )*
                debug_assert!(at <= <Self as $crate::abi::Lower>::SIZE);
                Self { $($field),* }
            }
        }
    };
}

/// Declares a variant.
macro_rules! variant {
    ($name:ident { $($case:ident $(($value:ident: $ty:ty))? = $number:literal,)* }) => {
        #[derive(Clone, Debug)]
        pub enum $name {
            $($case $(($ty))?,)*
        }

        #[cfg(target_arch = "wasm32")]
        impl $crate::abi::Lower for $name {
            const SIZE: usize = $crate::abi::record_size(&[
                (1, 1),
                ($crate::abi::largest(&[$($(<$ty as $crate::abi::Lower>::SIZE,)?)*]), <Self as $crate::abi::Lower>::ALIGN),
            ]);
            const ALIGN: usize = $crate::abi::largest(&[1, $($(<$ty as $crate::abi::Lower>::ALIGN,)?)*]);

            unsafe fn store(&self, to: *mut u8, lists: &mut $crate::abi::Lists) {
                match self {
                    $(Self::$case $(($value))? => {
                        // SAFETY: the size is that of the number of the case and the largest value.
                        unsafe {
                            to.write($number);
                            $($crate::abi::Lower::store($value, to.add(<Self as $crate::abi::Lower>::ALIGN), lists);)?
                        }
                    })*
                }
            }
        }

        #[cfg(target_arch = "wasm32")]
        impl $crate::abi::Lift for $name {
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: the other side wrote the number of a case, and its value.
                unsafe {
                    match from.read() {
                        $($number => Self::$case $((<$ty as $crate::abi::Lift>::load(from.add(<Self as $crate::abi::Lower>::ALIGN))))?,)*
                        _ => unreachable!(),
                    }
                }
            }
        }
    };
}

/// Declares an enum.
macro_rules! enumeration {
    ($name:ident { $($case:ident,)* }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($case,)*
        }

        #[cfg(target_arch = "wasm32")]
        impl $crate::abi::Lower for $name {
            const SIZE: usize = 1;
            const ALIGN: usize = 1;

            unsafe fn store(&self, to: *mut u8, _lists: &mut $crate::abi::Lists) {
                // SAFETY: there is room for the number.
                unsafe { to.write(*self as u8) }
            }
        }
    };
}

/// Declares a resource of the host.
#[cfg(target_arch = "wasm32")]
macro_rules! resource {
    ($name:ident $module:literal $drop:literal) => {
        #[derive(Debug)]
        pub struct $name(u32);

        impl $name {
            /// # Safety
            ///
            /// The host passed the handle, which nothing else owns.
            pub unsafe fn from_handle(handle: u32) -> Self {
                Self(handle)
            }

            /// The handle, for the host, which drops it.
            pub fn into_handle(self) -> u32 {
                std::mem::ManuallyDrop::new(self).0
            }
        }

        impl $crate::abi::Lower for $name {
            const SIZE: usize = 4;
            const ALIGN: usize = 4;

            unsafe fn store(&self, to: *mut u8, lists: &mut $crate::abi::Lists) {
                // SAFETY: as for this function.
                unsafe { self.0.store(to, lists) }
            }
        }

        impl $crate::abi::Lift for $name {
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: as for this function.
                Self(unsafe { u32::load(from) })
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                #[link(wasm_import_module = $module)]
                unsafe extern "C" {
                    #[link_name = $drop]
                    fn drop(handle: u32);
                }
                // SAFETY: this is the owner of the handle.
                unsafe { drop(self.0) }
            }
        }
    };
}

/// Declares imported functions: the name in the contract, the words of the parameters, and the function.
#[cfg(target_arch = "wasm32")]
macro_rules! imports {
    ($module:literal; impl $resource:ident { $($link:literal [$($word:ident)*]
        fn $name:ident($($argument:ident: $ty:ty),*) $(-> $result:ty)? $(=> $flat:ident)?;)* }) => {
        impl $resource {
            $(pub fn $name(&self $(, $argument: $ty)*) $(-> $result)? $(-> $flat)? {
                $crate::abi::import!($module $link [$($word)*] (self $(, $argument)*) $(-> $result)? $(=> $flat)?)
            })*
        }
    };
    ($module:literal; $($link:literal [$($word:ident)*]
        fn $name:ident($($argument:ident: $ty:ty),*) $(-> $result:ty)? $(=> $flat:ident)?;)*) => {
        $(pub fn $name($($argument: $ty),*) $(-> $result)? $(-> $flat)? {
            $crate::abi::import!($module $link [$($word)*] ($($argument),*) $(-> $result)? $(=> $flat)?)
        })*
    };
}

/// Declares an imported function that waits. Parameters of more than four words are in memory.
#[cfg(target_arch = "wasm32")]
macro_rules! waiting {
    ($module:literal; $($link:literal $words:tt fn $name:ident($($argument:ident: $ty:ty),*) $(-> $result:ty)?;)*) => {
        $(pub async fn $name($($argument: $ty),*) $(-> $result)? {
            // The words point into the arguments, so one future owns both.
            let (words, lists) = $crate::abi::lower_all!($($argument),*);
            $crate::abi::wait(move |result| {
                let _owned = ($(&$argument,)* &lists, result);
                $crate::abi::import_waiting!($module $link $words words result $(-> $result)?)
            })
            .await
        })*
    };
}

pub(crate) use {enumeration, record, variant};
#[cfg(target_arch = "wasm32")]
pub(crate) use {imports, resource, waiting};
