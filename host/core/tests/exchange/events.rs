//! The names of events.

use pointwork_core::{Context, Delivery, FailureCode, Payload};

use super::Stand;

#[tokio::test]
async fn a_name_whose_first_part_is_a_channel_is_looked_up_there_alone() {
    let stand = Stand::new(|_: Context| async {});
    let echo = |_: Delivery, payload: Payload| async { Ok(payload) };
    stand.listen("audit", "product:viewed", echo).unwrap();
    assert!(
        stand
            .bus
            .caller()
            .call_raw("product:viewed", Payload::null())
            .await
            .is_ok()
    );
    stand.listen("product", "sold", echo).unwrap();
    let failure = stand
        .bus
        .caller()
        .call_raw("product:viewed", Payload::null())
        .await
        .unwrap_err();
    assert_eq!(failure.code(), &FailureCode::UNKNOWN_EVENT);
}
