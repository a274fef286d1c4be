//! An application with a durable channel, whose listener and requests write a history.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pointwork::http::{Request, Response, StatusCode};
use pointwork::{App, AppOptions, Body, Context, Delivery, DurableOptions, EventStore, Failure, Payload};
use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::until_async;
use serde_json::{Value, json};

use crate::history::{Entry, Promised, check};

/// The time that a listener has when its application is closed.
const DRAIN: Duration = Duration::from_millis(500);

/// The durable channel.
pub const CHANNEL: &str = "mail";

/// What the listener does at an attempt, by key, number and attempt.
pub type Behaviour = Arc<dyn Fn(u32, u32, u32) -> Result<(), Failure> + Send + Sync>;

/// Cheap to clone; all clones are one world.
#[derive(Clone)]
pub struct World {
    /// The application, with a route that emits.
    pub app: App,
    /// The store of the durable channel.
    pub store: Arc<dyn EventStore>,
    /// What has happened so far.
    pub history: Arc<Mutex<Vec<Entry>>>,
}

impl World {
    /// An application without listeners. `POST /emit/:key/:number` emits `mail:order`.
    pub fn new(store: Arc<dyn EventStore>, options: DurableOptions) -> Self {
        Self::with_app(AppOptions::new(), store, options)
    }

    /// An application on a clock that the test moves; otherwise as [`new`](Self::new).
    pub fn timed(time: &TestClock, store: Arc<dyn EventStore>, options: DurableOptions) -> Self {
        Self::with_app(AppOptions::new().clock(time.clock()), store, options)
    }

    fn with_app(app: AppOptions, store: Arc<dyn EventStore>, options: DurableOptions) -> Self {
        let app = App::with_options(app.drain(DRAIN)).expect("threads start");
        app.make_durable(CHANNEL, options, store.clone())
            .expect("it can be durable");
        app.post("/emit/:key/:number", |ctx: Context| async move {
            let number = |name| ctx.param(name).and_then(|text| text.parse::<u32>().ok());
            let payload = json!({"key": number("key"), "number": number("number")});
            ctx.emit_raw("mail:order", Payload::json(&payload)?);
            Ok::<_, Failure>("emitted")
        })
        .expect("a route");
        Self {
            app,
            store,
            history: Arc::default(),
        }
    }

    /// Binds the listener of `mail:order`.
    pub fn listen(&self, behaviour: Behaviour) {
        let history = self.history.clone();
        let listener = move |delivery: Delivery, payload: Payload| {
            let (history, behaviour) = (history.clone(), behaviour.clone());
            async move {
                let payload: Value = payload.to()?;
                let number = |name: &str| payload[name].as_u64().unwrap_or_default() as u32;
                let (key, number, attempt) = (number("key"), number("number"), delivery.attempt());
                history
                    .lock()
                    .push(Entry::Attempted((key, number), delivery.id(), attempt));
                behaviour(key, number, attempt)?;
                history.lock().push(Entry::Delivered((key, number)));
                Ok(Payload::null())
            }
        };
        self.app.channel(CHANNEL).on_raw("order", listener).expect("a listener");
    }

    /// Sends a request that emits an event.
    pub async fn emit(&self, key: u32, number: u32) -> StatusCode {
        self.history.lock().push(Entry::Emitted((key, number)));
        let (status, _) = self.request(&format!("/emit/{key}/{number}")).await;
        if status == StatusCode::OK {
            self.history.lock().push(Entry::Confirmed((key, number)));
        }
        status
    }

    /// Sends a POST request. Returns the status and the body, or nothing if the body broke off.
    pub async fn request(&self, path: &str) -> (StatusCode, Option<String>) {
        let reply = self.begin(path).await;
        let status = reply.status();
        let body = reply.into_body().bytes().await.ok();
        (status, body.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Sends a POST request, and returns when the reply begins.
    pub async fn begin(&self, path: &str) -> Response<Body> {
        let request = Request::post(path).header("host", "localhost").body(Body::empty());
        self.app.handle(request.expect("a request")).await
    }

    /// Waits until no event of the channel waits.
    pub async fn settled(&self) {
        self.until(async |world| world.figures().await.waiting == 0).await;
    }

    /// The figures of the channel in its store.
    pub async fn figures(&self) -> pointwork::StoreFigures {
        self.store.figures(CHANNEL).await.expect("figures")
    }

    /// Waits until something holds.
    pub async fn until(&self, holds: impl AsyncFn(&Self) -> bool) {
        if let Err(error) = until_async("the condition holds", async || holds(self).await).await {
            panic!("{error}: {:#?}", self.history.lock());
        }
    }

    /// The history with the dead letters, checked.
    pub async fn check(&self, promised: Promised) -> Vec<Entry> {
        self.settled().await;
        let dead = self
            .store
            .dead_letters(CHANNEL, None, usize::MAX)
            .await
            .expect("dead letters");
        let mut history = self.history.lock().clone();
        for letter in dead {
            let payload: Value = letter.event.payload.to().expect("JSON");
            let number = |name: &str| payload[name].as_u64().unwrap_or_default() as u32;
            let (key, number, id) = (number("key"), number("number"), letter.event.id);
            history.push(Entry::Dead((key, number), id));
        }
        if let Err(broken) = check(&history, promised) {
            panic!("{broken}: {history:#?}");
        }
        history
    }
}

/// Options with short times.
pub fn quick() -> DurableOptions {
    DurableOptions::new()
        .attempts(3)
        .backoff([Duration::from_millis(5), Duration::from_millis(10)])
}
