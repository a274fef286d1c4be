//! The declarations of channels. The unit tests of the guests under `tests/guests` cover the listeners.

use pointwork_guest::{BlockingChannel, Channel, Payload, channel, events};

events! {
    All = "db:product:all": () => Vec<u64>;
    Viewed = "product:viewed": u64;
    Elsewhere = "store:stock": u64 => u32;
}

struct Db;

#[channel("db")]
impl Db {
    #[on(All)]
    #[on("product:every")]
    fn all() -> Vec<u64> {
        vec![7]
    }

    #[on(Viewed)]
    fn viewed(_id: &u64) {}

    #[pointwork_guest::attributes::on(crate::Elsewhere)]
    fn r#move(_id: Payload) -> u32 {
        7
    }

    #[on("odd{name}")]
    fn odd() {}

    fn helper() -> &'static str {
        "helper"
    }
}

struct Slow;

#[channel("slow")]
impl Slow {
    #[on("wait")]
    async fn wait() {}

    #[on("now")]
    fn now() {}
}

fn events<C: Channel>() -> Vec<(u32, &'static str, &'static str)> {
    let listeners = C::EVENTS.iter();
    listeners
        .map(|listener| (listener.listener, listener.name, listener.event))
        .collect()
}

#[test]
fn each_attribute_is_an_event_under_its_own_name() {
    assert_eq!(
        events::<Db>(),
        [
            (0, "all", "product:all"),
            (0, "all", "product:every"),
            (1, "viewed", "product:viewed"),
            (2, "move", "store:stock"),
            (3, "odd", "odd{name}"),
        ]
    );
    assert_eq!((Db::NAME, Db::LISTENERS), ("db", 4));
}

#[test]
fn a_function_without_an_attribute_is_no_listener() {
    assert_eq!(Db::helper(), "helper");
    assert!(events::<Db>().iter().all(|(_, name, _)| *name != "helper"));
}

#[test]
fn a_channel_with_async_listeners_has_plain_ones_as_well() {
    assert_eq!(events::<Slow>(), [(0, "wait", "wait"), (1, "now", "now")]);
}

#[test]
fn a_channel_without_async_listeners_fits_both_forms() {
    fn fits_both<C: Channel + BlockingChannel>() {}
    fits_both::<Db>();
}
