//! Events that a module calls by a name that it learns at run time, as the behaviour suite's module does.

use pointwork_guest::__private::{NamedCalls, emit_named, emit_named_from, hand_over_named};
use pointwork_guest::form::{Async, Blocking};
use pointwork_guest::testing::{TestEvent, TestRequest};
use pointwork_guest::{AsyncContext, AsyncDelivery, Channel, Context, Failure, Payload, channel, events};

events! {
    Twice = "math:twice": u32 => u32;
    Noted = "audit:noted": u32;
}

fn seven() -> Payload {
    Payload::new("application/json", "7")
}

fn request() -> TestRequest {
    TestRequest::get("/").try_on::<Twice>(|number| match number {
        0 => Err(Failure::with_code("zero", 409_u16, "twice nothing")),
        number => Ok(2 * number),
    })
}

#[test]
fn a_handler_of_either_form_calls_by_name() {
    let answer =
        request().run_with_async(async |ctx: AsyncContext| Async::call_named(&ctx, "math:twice", seven()).await);
    assert_eq!(answer.text(), "14");
    let answer = request().run_with_async(async |ctx: AsyncContext| {
        let ctx: Context = ctx.into_form();
        let zero = Payload::new("application/json", "0");
        let failure = Blocking::call_named(&ctx, "math:twice", zero)
            .await
            .expect_err("zero fails");
        assert_eq!(failure.to_string(), "`math:twice` failed with `zero`: twice nothing");
        Blocking::call_named(&ctx, "math:twice", seven()).await
    });
    assert_eq!(answer.text(), "14");
}

#[test]
fn a_handler_emits_and_hands_over_by_name() {
    let answer = request().run_with(|ctx| {
        emit_named(&ctx, "audit:noted", seven());
        hand_over_named(ctx, "audit:noted", seven())
    });
    assert_eq!(answer.emitted::<Noted>(), [7]);
    assert_eq!(answer.handed_over::<Noted>(), Some(7));
}

struct Ring;

#[channel("ring")]
impl Ring {
    #[on("turn")]
    async fn turn(delivery: &AsyncDelivery, payload: Payload) -> Result<Payload, Failure> {
        emit_named_from(delivery, "audit:noted", payload.clone());
        Async::call_named_from(delivery, "math:twice", payload).await
    }
}

#[test]
fn a_listener_calls_and_emits_by_name() {
    assert_eq!(Ring::EVENTS.len(), 1);
    let reaction = TestEvent::raw("turn", seven())
        .on::<Twice>(|number| 2 * number)
        .run::<Ring>();
    assert_eq!(reaction.emitted::<Noted>(), [7]);
    assert_eq!(reaction.value::<u32>(), 14);
}
