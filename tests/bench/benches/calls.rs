//! One request through the router without a server: `cargo bench --manifest-path tests/bench/Cargo.toml --bench calls`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use http::Request;
use pointwork::{Body, ConnectOptions};
use pointwork_bench::{Direct, SUBJECTS, app};

fn calls(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let direct = Direct::default();
    let app = runtime.block_on(app()).expect("the application");
    app.connect_to(direct.clone(), ConnectOptions::new())
        .expect("the adapter");
    let router = direct.router().expect("a router");
    let extra = [
        ("native handler that calls an event", "/native/42/call"),
        ("wasm synchronous that calls an event", "/calls/42/call"),
        ("wasm synchronous that emits an event", "/calls/42/emit"),
        ("wasm asynchronous that calls an event", "/waits/42/call"),
    ];
    let mut group = criterion.benchmark_group("one request");
    for (name, path) in SUBJECTS.into_iter().chain(extra) {
        group.bench_function(name, |bencher| {
            bencher.to_async(&runtime).iter(|| async {
                let request = Request::get(path)
                    .header("host", "bench")
                    .body(Body::empty())
                    .expect("a request");
                let reply = router.respond(None, request).await;
                assert_eq!(reply.status(), 200, "{path}");
                black_box(reply)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
