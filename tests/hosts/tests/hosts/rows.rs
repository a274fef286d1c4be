//! The rows of embedding, each with selected cases that prove the row in C and in Python. `open-rows.toml` lists most of these
//! rows until there are further bindings, so that the case lists cannot name them. The tests in `mounting.rs` prove the ways of mounting.

use pointwork_suite::cases;
use pointwork_test_runner::Trial;

/// The rows of `tests/spec.md`, each with cases.
const ROWS: [(&str, &[&str]); 4] = [
    ("X1", &["a_native_handler_sees_the_request"]),
    (
        "X2",
        &[
            "modules_come_and_go_while_the_application_serves",
            "a_swapped_module_answers_with_its_new_routes",
            "a_module_is_rolled_back_and_back_again",
            "records_name_module_controller_and_handler",
            "a_call_waits_for_its_listener",
            "every_attribute_has_its_operation",
            "several_channels_hear_of_one_crash",
        ],
    ),
    (
        "X3",
        &[
            "connect_to_takes_a_prefix",
            "set_global_prefix_prefixes_what_comes_afterwards",
        ],
    ),
    (
        "X4",
        &[
            "a_long_body_passes_through_a_guest",
            "a_streamed_reply_arrives_whole",
            "a_client_that_goes_away_cancels_what_the_guest_waits_for",
            "a_slow_channel_does_not_hold_up_another",
            "a_listener_that_crashes_fails_its_caller_only",
            "a_native_handler_that_panics_is_500_and_reported",
        ],
    ),
];

/// The test that each of these cases is selected.
pub(crate) fn trial() -> Trial {
    Trial::test("every_row_of_embedding_has_selected_cases", || {
        for (row, names) in ROWS {
            for name in names {
                if !cases::named(name).is_in_hosts {
                    return Err(format!("the case `{name}` of row {row} is not `in hosts`").into());
                }
            }
        }
        Ok(())
    })
}
