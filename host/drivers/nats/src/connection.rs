//! The connection to the servers.

use std::future::{pending, ready};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{Client, ConnectOptions, Event, ServerAddr};
use bytes::Bytes;
use futures_util::StreamExt as _;
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use pointwork_core::{Clock, Error, ErrorKind, Timers, read_text};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

/// The time that a server has for an answer, until it is asked again.
const ANSWER: Duration = Duration::from_secs(1);

/// The time between two questions whether the server is there; after the third without an answer it is not.
const PING: Duration = Duration::from_secs(5);

/// The messages of a subscription that may wait, each as large as the server allows.
const MESSAGES: usize = 1024;

/// The most bytes of a file with credentials or certificates.
const MOST_OF_A_FILE: u64 = 4 * 1024 * 1024;

/// The longest time between two attempts to connect.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Where the servers are, and who connects.
#[derive(Clone, Debug, Default)]
pub struct NatsOptions {
    /// The servers of one cluster, such as `tls://nats-1:4222`. A user with its password, or a token, may stand before the host.
    pub servers: Vec<String>,
    /// The file with the credentials of a user: its JWT and its seed.
    pub credentials_file: Option<PathBuf>,
    /// The file with the certificates of authorities, in PEM, beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// The first part of every name in the server.
    pub prefix: String,
    /// The clock of the driver's own timers. The client and the server of NATS follow real time. Default: the real clock.
    pub clock: Clock,
}

impl NatsOptions {
    /// Checks what can be checked without a server. It blocks.
    ///
    /// # Errors
    /// [`Durable`](ErrorKind::Durable): an address is none, or a file cannot be read.
    pub fn check(&self) -> Result<(), Error> {
        for server in &self.servers {
            let parsed = server.parse::<ServerAddr>();
            let has_host = parsed.as_ref().is_ok_and(|address| !address.host().is_empty());
            if !has_host {
                let shown = server.rsplit('@').next().unwrap_or_default();
                let message = format!("`{shown}` is no server of NATS, expected one such as `nats://127.0.0.1:4222`");
                return Err(Error::new(ErrorKind::Durable, message));
            }
        }
        for (what, path) in [("credentials", &self.credentials_file), ("authorities", &self.ca_file)] {
            let Some(path) = path else { continue };
            let of = || format!("the {what} for NATS, `{}`,", path.display());
            let text = read_text(path, MOST_OF_A_FILE);
            let text = text.map_err(|error| {
                Error::new(ErrorKind::Durable, format!("{} cannot be read", of())).with_source(error)
            })?;
            if !text.contains("-----BEGIN ") {
                return Err(Error::new(
                    ErrorKind::Durable,
                    format!("{} have no `-----BEGIN `", of()),
                ));
            }
        }
        Ok(())
    }

    /// The servers without users and passwords.
    fn shown(&self) -> String {
        let servers = self.servers.iter().filter_map(|server| server.rsplit('@').next());
        servers.collect::<Vec<_>>().join("`, `")
    }

    /// User and password of the first address that has a user; without a password it is a token.
    fn user(&self) -> Option<(String, Option<String>)> {
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let addresses = self
            .servers
            .iter()
            .filter_map(|server| server.parse::<ServerAddr>().ok());
        let mut users = addresses.filter_map(|address| {
            let user = address.username().map(decoded)?;
            Some((user, address.password().map(decoded)))
        });
        users.next()
    }
}

/// A connection that reconnects without end. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(crate) client: Client,
    pub(crate) jetstream: Context,
    pub(crate) runtime: Handle,
    pub(crate) prefix: Arc<str>,
    pub(crate) timers: Timers,
    /// The last error of the connection.
    told: Arc<Mutex<Option<String>>>,
    /// How often it was made; a server that lost the connection knows nothing of what was asked before.
    made: watch::Receiver<u64>,
}

impl Connection {
    /// Begins to connect. Servers that cannot be reached are no error: the connection goes on trying.
    ///
    /// # Errors
    /// [`Durable`](ErrorKind::Durable): an address is none, or the credentials cannot be read.
    pub async fn open(options: NatsOptions, runtime: Handle) -> Result<Self, Error> {
        let failed = |message: String, error: Box<dyn std::error::Error + Send + Sync>| {
            Error::new(ErrorKind::Durable, message).with_source(error)
        };
        let (makes, made) = watch::channel(0);
        let told = Arc::<Mutex<Option<String>>>::default();
        let (tells, servers) = (told.clone(), options.shown());
        options.check()?;
        let mut connect = ConnectOptions::new()
            .name("pointwork")
            .retry_on_initial_connect()
            .max_reconnects(None)
            .reconnect_delay_callback(|attempts| LONGEST_PAUSE.min(Duration::from_millis(50 * attempts as u64)))
            .ping_interval(PING)
            .subscription_capacity(MESSAGES)
            .event_callback(move |event| {
                log(&event, &servers, &tells);
                if matches!(event, Event::Connected) {
                    makes.send_modify(|count| *count += 1);
                }
                ready(())
            });
        if let Some(path) = &options.credentials_file {
            let read = connect.credentials_file(path).await;
            connect = read.map_err(|error| {
                failed(
                    format!("the credentials `{}` cannot be read", path.display()),
                    error.into(),
                )
            })?;
        }
        if let Some(path) = &options.ca_file {
            connect = connect.add_root_certificates(path.clone());
        }
        if let Some((user, password)) = options.user() {
            connect = match password {
                Some(password) => connect.user_and_password(user, password),
                None => connect.token(user),
            };
        }
        let client = connect.connect(&options.servers[..]).await.map_err(|error| {
            failed(
                format!("the servers `{}` cannot be connected to", options.shown()),
                error.into(),
            )
        })?;
        let jetstream = ContextBuilder::new().timeout(ANSWER).build(client.clone());
        let prefix = options.prefix.into();
        Ok(Self {
            client,
            jetstream,
            runtime,
            prefix,
            timers: timers(options.clock),
            told,
            made,
        })
    }

    /// The same from any thread, which it blocks for as long as the credentials are read.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_blocking(options: NatsOptions, runtime: &Handle) -> Result<Self, Error> {
        block_on(runtime, Self::open(options, runtime.clone()))
    }

    /// Whether a server is connected. What is sent otherwise would go out at some later time.
    pub(crate) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Whether the server has refused to subscribe to these subjects.
    pub(crate) fn is_refused(&self, subjects: &str) -> bool {
        let told = self.told.lock();
        told.as_ref()
            .is_some_and(|error| error.contains("Permissions Violation") && error.contains(subjects))
    }

    /// Completes when the server has heard everything that was sent before.
    #[expect(clippy::disallowed_methods, reason = "the server answers in real time")]
    pub(crate) async fn round_trip(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let inbox = self.client.new_inbox();
        let mut echo = self.client.subscribe(inbox.clone()).await?;
        self.client.publish(inbox, Bytes::new()).await?;
        timeout(ANSWER, echo.next()).await?;
        Ok(())
    }

    /// Completes when a server has been connected.
    pub(crate) async fn until_made(&self) {
        let mut made = self.made.clone();
        if made.wait_for(|count| *count > 0).await.is_err() {
            pending().await
        }
    }

    /// Warns once a server is connected whose largest message is smaller than the largest payload.
    pub fn expect_payloads_of(&self, most: usize) {
        let connection = self.clone();
        self.runtime.spawn(async move {
            connection.until_made().await;
            let allowed = connection.client.max_payload();
            if allowed < most {
                tracing::warn!(
                    "NATS takes messages of at most {allowed} bytes with their headers (`max_payload`), and payloads may have {most} \
                     (`payload` in [limits]): larger ones are refused"
                );
            }
        });
    }

    /// How often a server was connected.
    pub(crate) fn count_made(&self) -> u64 {
        *self.made.borrow()
    }

    /// Completes at the next time that a server is connected.
    pub(crate) fn next_made(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut made = self.made.clone();
        made.mark_unchanged();
        async move {
            if made.changed().await.is_err() {
                pending().await
            }
        }
    }
}

/// Waits for a future on a thread of its own: that of the caller may be the runtime's, which must not wait.
///
/// # Panics
/// If the future panics.
pub(crate) fn block_on<T: Send>(runtime: &Handle, future: impl Future<Output = T> + Send) -> T {
    let done = thread::scope(|scope| scope.spawn(|| runtime.block_on(future)).join());
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Logs an event of the connection. `told` is the last error: an attempt to connect that fails as the one before is no news.
fn log(event: &Event, servers: &str, told: &Mutex<Option<String>>) {
    let error = match event {
        Event::Connected => {
            *told.lock() = None;
            return tracing::info!("connected to NATS");
        }
        Event::Disconnected => return tracing::warn!("the connection to NATS is lost"),
        Event::ServerError(error) => error.to_string(),
        Event::ClientError(error) => error.to_string(),
        Event::SlowConsumer(_) => "messages came faster than they were taken, and some are lost".to_owned(),
        other => return tracing::debug!("NATS: {other}"),
    };
    let mut told = told.lock();
    if told.as_ref() != Some(&error) {
        tracing::warn!("NATS at `{servers}`: {error}");
        *told = Some(error);
    }
}

/// Timers of `clock`; those of the real clock need a runtime of tokio.
#[expect(clippy::disallowed_methods, reason = "the real clock takes its timers from tokio")]
pub(crate) fn timers(clock: Clock) -> Timers {
    Timers::new(clock, |deadline| Box::pin(tokio::time::sleep_until(deadline.into())))
}
