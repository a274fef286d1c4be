//! A host in another language as a subject of the suite.

use std::fmt;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use pointwork::ModuleStatus;
use pointwork_core::{BoxFuture, CrashKind, RouteRecord};
use pointwork_suite::flavor;
use pointwork_suite::languages::compiler_of_programs;
use pointwork_suite::logs::{self, Source};
use pointwork_suite::subject::{AppSpec, Control, Refusal, Step, Subject};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Handle;

use crate::calls::Calls;
use crate::process::{Case, HostError, Process, Words, text};
use crate::settings;
use crate::shadow::Shadow;

/// A program that embeds applications, and how it serves them.
pub struct Host {
    /// The name of the subject.
    pub name: &'static str,
    /// The name of the adapter, as the application tells it.
    pub adapter: &'static str,
    /// Whether the application is mounted in a server of that language; otherwise the built-in one serves it.
    pub mounts: bool,
    /// The command that starts the program.
    pub command: fn() -> Command,
    /// Programs without an application.
    pub idle: Mutex<Vec<Arc<Process>>>,
    /// The public functions of the binding that the programs have called.
    pub calls: Arc<Calls>,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host({})", self.name)
    }
}

/// A subject that all its cases share.
#[derive(Clone, Debug)]
pub struct InHost {
    /// The program.
    pub host: Arc<Host>,
    /// The requests that are a mount's.
    pub place: Place,
}

/// The requests that are a mount's.
#[derive(Clone, Copy, Debug, Default)]
pub enum Place {
    /// All.
    #[default]
    Everything,
    /// Those that a route takes; the server's own routes have the others.
    InFront,
    /// Those below a prefix.
    Below(&'static str),
}

impl Place {
    fn words(self) -> Words {
        let (place, prefix) = match self {
            Self::Everything => ("everything", ""),
            Self::InFront => ("in-front", ""),
            Self::Below(prefix) => ("below", prefix),
        };
        vec![place.as_bytes().to_vec(), prefix.as_bytes().to_vec()]
    }
}

impl InHost {
    /// The same with programs of its own.
    #[must_use]
    pub fn alone(&self) -> Self {
        let Host {
            name,
            adapter,
            mounts,
            command,
            ref calls,
            ..
        } = *self.host;
        let host = Host {
            name,
            adapter,
            mounts,
            command,
            idle: Mutex::default(),
            calls: calls.clone(),
        };
        Self {
            host: Arc::new(host),
            place: self.place,
        }
    }

    /// The number of the process of a program without an application.
    pub fn program(&self) -> Option<u32> {
        let idle = self.host.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.first().map(|process| process.id())
    }
}

impl Subject for InHost {
    fn name(&self) -> &'static str {
        self.host.name
    }

    fn adapter(&self) -> &'static str {
        self.host.adapter
    }

    fn kind_of_native_crash(&self) -> CrashKind {
        CrashKind::Exception
    }

    fn start(&self, spec: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>> {
        Box::pin(async move {
            if spec.time().is_some() {
                let reason = "a program in another language has its own clock: register the case with `moves clock`";
                return Err(Refusal::told(reason.to_owned()));
            }
            let idle = self.host.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let process = match idle {
                Some(process) => process,
                None => {
                    let mut command = (self.host.command)();
                    command.envs([compiler_of_programs()]);
                    Process::start(self.host.name, command, self.host.calls.clone())
                        .map_err(|error| Refusal::from_error(&error))?
                }
            };
            let weak: Weak<dyn Source> = Arc::<Process>::downgrade(&process);
            logs::comes_from(weak);
            let shadow = Shadow::new(&process).map_err(|error| Refusal::from_error(&error))?;
            process.serve(Some(Case {
                shadow: shadow.clone(),
                runtime: Handle::current(),
                thread: thread::current().id(),
            }));
            let (steps, limits) = spec.into_parts();
            let settings = settings::of_app(&limits);
            let mut running = Running {
                host: self.host.clone(),
                place: self.place,
                process: Some(process),
                shadow,
                next: Mutex::default(),
                address: SocketAddr::from(([127, 0, 0, 1], 0)),
            };
            running.step("start", vec![settings.to_string().into_bytes()]).await?;
            match running.build(steps).await {
                Ok(()) => {
                    let control: Box<dyn Control> = Box::new(running);
                    Ok(control)
                }
                Err(refusal) => {
                    running.end().await;
                    Err(refusal)
                }
            }
        })
    }
}

/// An application in the program.
struct Running {
    host: Arc<Host>,
    place: Place,
    /// `None` once it is closed.
    process: Option<Arc<Process>>,
    shadow: Arc<Shadow>,
    /// The number of the next function.
    next: Mutex<usize>,
    address: SocketAddr,
}

fn refused(told: HostError) -> Refusal {
    Refusal::told(told.text)
}

fn json_of(options: &pointwork_suite::subject::ModuleSettings) -> Vec<u8> {
    settings::of_module(options).to_string().into_bytes()
}

impl Running {
    fn process(&self) -> &Process {
        self.process.as_deref().expect("it is not closed")
    }

    async fn step(&self, step: &str, words: Words) -> Result<Words, Refusal> {
        self.process().step(step, words).await.map_err(refused)
    }

    async fn build(&mut self, steps: Vec<Step>) -> Result<(), Refusal> {
        // An adapter takes the prefix when it is attached. A server of another language does not: the application gets it first.
        let prefix = steps.iter().find_map(|step| match step {
            Step::Attach(prefix) => prefix.clone(),
            _ => None,
        });
        if let Some(prefix) = prefix {
            self.take(Step::Prefix(prefix)).await?;
        }
        for step in steps {
            match step {
                Step::Attach(_) => {
                    let told = match self.host.mounts {
                        true => self.step("mount", self.place.words()).await?,
                        false => self.step("serve", Words::new()).await?,
                    };
                    let address = told.first().map(|word| text(word)).unwrap_or_default();
                    self.address = address.parse().expect("an address");
                }
                step => self.take(step).await?,
            }
        }
        Ok(())
    }

    async fn take(&self, step: Step) -> Result<(), Refusal> {
        match step {
            Step::Load(name, bytes) => self.load("load", name, bytes, Vec::new()).await,
            Step::LoadWith(name, bytes, options) => self.load("load", name, bytes, json_of(&options)).await,
            Step::Swap(name, bytes) => self.load("swap", name, bytes, Vec::new()).await,
            Step::SwapWith(name, bytes, options) => self.load("swap", name, bytes, json_of(&options)).await,
            Step::RollBack(name) => self.step("roll-back", vec![name.into_bytes()]).await.map(drop),
            Step::Remove(name) => self.step("remove", vec![name.into_bytes()]).await.map(drop),
            Step::Prefix(prefix) => {
                let _ = self.shadow.prefix(&prefix);
                self.step("prefix", vec![prefix.into_bytes()]).await.map(drop)
            }
            Step::Register(method, path, handler) => {
                // A route that is refused is refused by the program.
                let _ = self.shadow.route(method, &path, handler);
                let method = method.unwrap_or_default().as_bytes().to_vec();
                self.step("route", vec![method, path.into_bytes()]).await.map(drop)
            }
            Step::Listen(heard, program) => {
                let number = {
                    let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
                    *next += 1;
                    *next
                };
                let _ = self.shadow.listen(number, &heard.event, heard.listener);
                self.shadow.relay(&heard.channel, &heard.event);
                let mut words = vec![heard.channel.into_bytes(), heard.event.into_bytes()];
                words.push(number.to_string().into_bytes());
                words.extend(program.iter().flat_map(flavor::words));
                self.step("listen", words).await.map(drop)
            }
            Step::Attach(_) => Err(Refusal::told("an adapter is attached at the start".to_owned())),
        }
    }

    async fn load(&self, step: &str, name: String, bytes: Arc<[u8]>, options: Vec<u8>) -> Result<(), Refusal> {
        let words = vec![name.into_bytes(), options, bytes.to_vec()];
        self.step(step, words).await?;
        for status in self.statuses() {
            for channel in status.info.channels {
                for listener in channel.listeners {
                    self.shadow.relay(&channel.name, &listener.event);
                }
            }
        }
        Ok(())
    }

    /// The word of the program's status at that place.
    fn status<T: DeserializeOwned>(&self, place: usize) -> T {
        let told = self.process().step_now("status");
        let told = told.unwrap_or_else(|told| panic!("{}", told.text));
        let word = told.get(place).map(|word| text(word)).unwrap_or_default();
        serde_json::from_str(&word).unwrap_or_else(|error| panic!("{error} in: {word}"))
    }

    fn figure(&self, name: &str) -> u64 {
        self.status::<Value>(2)[name].as_u64().expect("a number")
    }

    async fn end(mut self) {
        let closed = self.step("close", Words::new()).await;
        let Some(process) = self.process.take() else { return };
        process.serve(None);
        match closed {
            Ok(_) => self
                .host
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(process),
            Err(_) => process.kill(),
        }
    }
}

impl Drop for Running {
    /// A case that failed leaves its program in any state.
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }
}

impl Control for Running {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn apply(&self, step: Step) -> BoxFuture<'_, Result<(), Refusal>> {
        Box::pin(self.take(step))
    }

    fn routes(&self) -> Vec<RouteRecord> {
        self.status(0)
    }

    fn route_count(&self) -> usize {
        usize::try_from(self.figure("routes")).expect("a small number")
    }

    fn events_refused(&self) -> u64 {
        self.figure("events-refused")
    }

    fn statuses(&self) -> Vec<ModuleStatus> {
        self.status(1)
    }

    fn requests_in_flight(&self) -> usize {
        usize::try_from(self.figure("requests-in-flight")).expect("a small number")
    }

    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(self.end())
    }
}
