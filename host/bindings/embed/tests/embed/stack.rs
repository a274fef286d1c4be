//! The stack of a thread, as the operating system knows it.

/// Whether the caller runs on the stack of its thread, and not on that of a fiber.
pub(crate) fn is_own() -> bool {
    let here = 0_u8;
    let address = (&raw const here).addr();
    // SAFETY: the attributes are initialised by the first call, read by the second, and destroyed by the third.
    unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        assert_eq!(libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes), 0);
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        assert_eq!(
            libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut size),
            0
        );
        libc::pthread_attr_destroy(&raw mut attributes);
        (lowest.addr()..lowest.addr() + size).contains(&address)
    }
}

/// Ends the test's process if the caller runs on a fiber: what another language's runtime would do.
pub(crate) fn check(place: &str) {
    if !is_own() {
        eprintln!("{place} runs on the stack of a fiber");
        std::process::abort();
    }
}

#[test]
fn a_native_listener_of_rust_runs_on_a_fiber_which_the_check_sees() {
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let host = crate::world::host();
    let by_listener = seen.clone();
    let listener = move |_: pointwork::Delivery, payload: pointwork_embed::Payload| {
        by_listener.store(is_own(), std::sync::atomic::Ordering::Relaxed);
        async move { Ok(payload) }
    };
    host.app().unwrap().channel("db").on_raw("ask", listener).unwrap();
    crate::world::load(&host, "stack", &crate::world::asking());
    assert_eq!(crate::world::text(crate::world::get(&host, "/ask")), "said");
    assert!(!seen.load(std::sync::atomic::Ordering::Relaxed));
}
