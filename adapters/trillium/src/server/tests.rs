use std::time::Duration;

use pointwork_core::{Protocols, ServerOptions};

use super::not_kept;

#[test]
fn only_changed_settings_of_http_2_are_told() {
    let mut options = ServerOptions::default();
    assert!(not_kept(&options).is_empty());
    options.protocols = Protocols::Http1;
    options.keep_alive = false;
    options.max_connections = 7;
    assert!(not_kept(&options).is_empty());
    options.protocols = Protocols::Http2;
    options.http2.max_streams = 7;
    options.http2.ping_timeout = Duration::from_secs(1);
    assert_eq!(
        not_kept(&options),
        ["protocols", "http2.max_streams", "http2.ping_timeout"]
    );
}
