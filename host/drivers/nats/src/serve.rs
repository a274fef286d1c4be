//! Serves a channel to other processes.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Message, Subject, Subscriber};
use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use pointwork_core::{Caller, Failure, FailureCode, Payload, StartGuard};
use tokio::sync::Semaphore;

use crate::connection::Connection;
use crate::envelope;
use crate::names::Names;

/// The processes of one group share the calls.
const GROUP: &str = "pointwork";

/// The time until the next attempt to subscribe.
const PAUSE: Duration = Duration::from_secs(1);

/// The time until the next attempt after a refusal.
const REFUSED: Duration = Duration::from_secs(10);

/// The longest time that the sender of a call may name, and that of a call that names none. The application's own limit is shorter.
const LONGEST: Duration = Duration::from_hours(24);

/// The time that a channel may have no listener after the start before that is told.
const EXPECTED: Duration = Duration::from_secs(10);

impl Connection {
    /// Answers the calls that other processes send to the channel, beside others of the same prefix, while the channel has listeners,
    /// until the application ends. `at_once` calls run beside each other; one more fails with `overloaded`, and its sender may try
    /// again. `starting` is dropped when the server knows of it.
    pub fn serve(&self, caller: Caller, channel: &str, at_once: u16, starting: StartGuard) {
        let server = Server {
            connection: self.clone(),
            caller,
            channel: channel.into(),
            places: Arc::new(Semaphore::new(at_once.into())),
        };
        self.runtime.spawn(server.run(starting));
    }
}

#[derive(Clone)]
struct Server {
    connection: Connection,
    caller: Caller,
    channel: Arc<str>,
    places: Arc<Semaphore>,
}

impl Server {
    async fn run(self, starting: StartGuard) {
        let mut starting = Some(starting);
        let timers = &self.connection.timers;
        let listens = self.caller.until_listens(&self.channel, true);
        if timers.timeout(EXPECTED, listens).await.is_none() {
            tracing::warn!(
                channel = &*self.channel,
                "nobody listens to the channel that is to be served: calls from elsewhere fail with `unreachable`"
            );
        }
        while self.caller.until_listens(&self.channel, true).await.is_ok() {
            let calls = Names::new(&self.connection.prefix, &self.channel).calls();
            match self
                .connection
                .client
                .queue_subscribe(calls.clone(), GROUP.to_owned())
                .await
            {
                Ok(subscribed) => {
                    self.connection.until_made().await;
                    // A refusal comes before the echo, and by another task.
                    let heard = self.connection.round_trip().await;
                    settle().await;
                    if heard.is_err() || self.connection.is_refused(&calls) {
                        tracing::warn!(
                            channel = &*self.channel,
                            "the channel is not served: NATS refuses `{calls}`, or does not answer"
                        );
                        drop(subscribed);
                        timers.sleep(REFUSED).await;
                        continue;
                    }
                    starting = None;
                    self.serve(subscribed).await;
                }
                Err(error) => {
                    tracing::error!(channel = &*self.channel, "the channel is not served: {error}");
                    timers.sleep(PAUSE).await;
                }
            }
        }
        drop(starting);
    }

    /// Answers calls as long as the channel has listeners. Those that have arrived by then are answered all the same.
    async fn serve(&self, mut calls: Subscriber) {
        let mut gone = pin!(self.caller.until_listens(&self.channel, false));
        loop {
            match select(calls.next(), gone.as_mut()).await {
                Either::Left((Some(call), _)) => self.take(call),
                Either::Left((None, _)) => return,
                Either::Right(_) => break,
            }
        }
        if calls.drain().await.is_ok() {
            while let Some(call) = calls.next().await {
                self.take(call);
            }
        }
    }

    fn take(&self, call: Message) {
        let Some(reply) = call.reply else {
            tracing::debug!(channel = &*self.channel, "a message without an address for the answer");
            return;
        };
        let server = self.clone();
        let place = self.places.clone().try_acquire_owned();
        self.connection.runtime.spawn(async move {
            let Ok(_place) = place else {
                let message = format!("the channel `{}` has as many calls as it takes", server.channel);
                let failure = Failure::of(FailureCode::OVERLOADED, message);
                return server.reply(reply, Err(failure)).await;
            };
            let headers = call.headers.unwrap_or_default();
            let deadline = server.caller.clock().now() + envelope::time_left(&headers).unwrap_or(LONGEST).min(LONGEST);
            let call = envelope::event(&server.channel, &headers, call.payload, 0, 0);
            let answer = |result| server.reply(reply, result);
            server.caller.answer(call, deadline, answer).await;
        });
    }

    async fn reply(&self, to: Subject, result: Result<Payload, Failure>) {
        let client = &self.connection.client;
        let (headers, payload) = envelope::answer(&result);
        let sent = client.publish_with_headers(to.clone(), headers, payload).await;
        if let Err(error) = sent {
            let message = format!("the result cannot be sent: {error}");
            let failure = Failure::of(FailureCode::TOO_LARGE, message);
            let (headers, payload) = envelope::answer(&Err(failure));
            if let Err(error) = client.publish_with_headers(to, headers, payload).await {
                tracing::error!(channel = &*self.channel, "a call was not answered: {error}");
            }
        }
        // Without a connection the answer waits for one, and this does not.
        let _flushed = self.connection.timers.timeout(PAUSE, client.flush()).await;
    }
}

/// Waits until an error of the server has come to this process.
#[expect(clippy::disallowed_methods, reason = "the server answers in real time")]
async fn settle() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}
