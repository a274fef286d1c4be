//! The expansion of `module!`.

/// One module: its form, its world, the macro that exports the world, its controllers and its channels.
#[doc(hidden)]
#[macro_export]
macro_rules! __module {
    ($form:ident, $world:ident, $export:ident, [$($controller:ty),*], [$($channel:ty),*]) => {
        const _: () = {
            #[allow(dead_code, reason = "a native build has no exports")]
            struct Module;

            impl $crate::__private::ModuleLists for Module {
                type ControllerList = $crate::__list!($($controller),*);
                type ChannelList = $crate::__list!($($channel),*);
            }

            $($crate::__private::$form::controller::<$controller>();)*
            $($crate::__private::$form::channel::<$channel>();)*

            #[cfg(target_arch = "wasm32")]
            $crate::bindings::$world::$export!(Module with_types_in $crate::bindings::$world);
        };
    };
}

/// The types as nested pairs.
#[doc(hidden)]
#[macro_export]
macro_rules! __list {
    () => { () };
    ($first:ty $(, $rest:ty)*) => { ($first, $crate::__list!($($rest),*)) };
}
