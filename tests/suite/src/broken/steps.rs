use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pointwork_core::{BoxFuture, Delivery, Failure, Listener, Payload, SERVER_CHANNEL};

use super::control::Altered;
use crate::subject::{AppSpec, Control, Refusal, Step, Subject};

/// A subject that applies other steps to its application than the case lists: all of them before it serves, and each
/// later one while it serves.
pub struct AlteredSteps {
    inner: Arc<dyn Subject>,
    steps: fn(Vec<Step>) -> Vec<Step>,
}

impl AlteredSteps {
    /// Rewrites the steps of a subject.
    pub fn new(inner: Arc<dyn Subject>, steps: fn(Vec<Step>) -> Vec<Step>) -> Self {
        Self { inner, steps }
    }
}

impl Subject for AlteredSteps {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn start(&self, app: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>> {
        Box::pin(async move {
            let (steps, limits) = app.into_parts();
            let app = AppSpec::new().limits(limits);
            let app = (self.steps)(steps).into_iter().fold(app, AppSpec::step);
            Ok(Box::new(Altered {
                control: self.inner.start(app).await?,
                steps: self.steps,
                front: None,
            }) as Box<dyn Control>)
        })
    }
}

/// Replaces each step by others.
fn each(steps: Vec<Step>, other: impl Fn(Step) -> Vec<Step>) -> Vec<Step> {
    steps.into_iter().flat_map(other).collect()
}

fn each_prefix(steps: Vec<Step>, other: fn(String) -> Option<String>) -> Vec<Step> {
    each(steps, |step| match step {
        Step::Prefix(prefix) => other(prefix).into_iter().map(Step::Prefix).collect(),
        Step::Attach(prefix) => vec![Step::Attach(prefix.and_then(other))],
        step => vec![step],
    })
}

pub(super) fn double_the_prefix(steps: Vec<Step>) -> Vec<Step> {
    each_prefix(steps, |prefix| Some(format!("{prefix}/{prefix}")))
}

pub(super) fn forget_the_prefix(steps: Vec<Step>) -> Vec<Step> {
    each_prefix(steps, |_| None)
}

pub(super) fn prefix_what_came_before(mut steps: Vec<Step>) -> Vec<Step> {
    // The sort is stable: all other steps keep their order.
    steps.sort_by_key(|step| !matches!(step, Step::Prefix(_)));
    steps
}

pub(super) fn swap_nothing(steps: Vec<Step>) -> Vec<Step> {
    each(steps, |step| match step {
        Step::Swap(..) | Step::SwapWith(..) => Vec::new(),
        step => vec![step],
    })
}

pub(super) fn swap_by_removing(steps: Vec<Step>) -> Vec<Step> {
    each(steps, |step| match step {
        Step::Swap(name, component) => vec![Step::Remove(name.clone()), Step::Load(name, component)],
        step => vec![step],
    })
}

pub(super) fn roll_nothing_back(steps: Vec<Step>) -> Vec<Step> {
    each(steps, |step| match step {
        Step::RollBack(_) => Vec::new(),
        step => vec![step],
    })
}

pub(super) fn remove_nothing(steps: Vec<Step>) -> Vec<Step> {
    each(steps, |step| match step {
        Step::Remove(_) => Vec::new(),
        step => vec![step],
    })
}

pub(super) fn set_no_limit(steps: Vec<Step>) -> Vec<Step> {
    each(steps, |step| match step {
        Step::LoadWith(name, component, _) => vec![Step::Load(name, component)],
        step => vec![step],
    })
}

pub(super) fn report_no_crash(steps: Vec<Step>) -> Vec<Step> {
    each(steps, |step| match step {
        Step::Listen(heard, _) if heard.channel == SERVER_CHANNEL && heard.event == "crashed" => Vec::new(),
        step => vec![step],
    })
}

/// Shifts the listeners of each channel by one event.
pub(super) fn mix_the_listeners_up(mut steps: Vec<Step>) -> Vec<Step> {
    let of_channels = steps.iter_mut().filter_map(|step| match step {
        Step::Listen(heard, _) if heard.channel != SERVER_CHANNEL => Some(heard),
        _ => None,
    });
    let mut last: Option<&mut pointwork_core::Subscription> = None;
    for heard in of_channels {
        if let Some(last) = last.filter(|last| last.channel == heard.channel) {
            std::mem::swap(&mut last.listener, &mut heard.listener);
        }
        last = Some(heard);
    }
    steps
}

/// Wraps each native listener, except those of the server's events.
fn each_listener<B: Listener>(steps: Vec<Step>, between: fn(Arc<dyn Listener>, String) -> B) -> Vec<Step> {
    each(steps, |step| match step {
        Step::Listen(mut heard, _) if heard.channel != SERVER_CHANNEL => {
            let event = format!("{}:{}", heard.channel, heard.event);
            heard.listener = Arc::new(between(heard.listener, event));
            vec![Step::Listen(heard, None)]
        }
        step => vec![step],
    })
}

pub(super) fn alter_results(steps: Vec<Step>) -> Vec<Step> {
    each_listener(steps, |inner, _| {
        move |delivery: Delivery, payload: Payload| {
            let answer = inner.deliver(delivery, payload);
            async move {
                let answer = answer.await?;
                let content_type = answer.content_type().to_owned();
                Ok(Payload::new(content_type, [answer.data(), b"!"].concat()))
            }
        }
    })
}

pub(super) fn lose_every_second_event(steps: Vec<Step>) -> Vec<Step> {
    each_listener(steps, |inner, event| {
        let heard = AtomicUsize::new(0);
        move |delivery: Delivery, payload: Payload| {
            let second = event.starts_with("log:") && heard.fetch_add(1, Ordering::Relaxed) % 2 == 1;
            let answer = (!second).then(|| inner.deliver(delivery, payload));
            async move {
                match answer {
                    Some(answer) => answer.await,
                    None => Ok(Payload::null()),
                }
            }
        }
    })
}

/// Marks the payload of an event that is delivered a second time.
const AGAIN: &str = "application/again";

pub(super) fn hear_everything_twice(steps: Vec<Step>) -> Vec<Step> {
    each_listener(steps, |inner, event| {
        let event: Arc<str> = event.into();
        move |delivery: Delivery, payload: Payload| -> BoxFuture<'static, Result<Payload, Failure>> {
            if payload.content_type() == AGAIN {
                return inner.deliver(delivery, Payload::new(pointwork_core::JSON, payload.into_data()));
            }
            let (inner, event) = (inner.clone(), event.clone());
            Box::pin(async move {
                let again = Payload::new(AGAIN, payload.clone().into_data());
                delivery.caller().call_raw(&event, again).await?;
                inner.deliver(delivery, payload).await
            })
        }
    })
}

pub(super) fn lose_the_context(steps: Vec<Step>) -> Vec<Step> {
    each_listener(steps, |inner, _| {
        move |mut delivery: Delivery, payload: Payload| {
            drop(delivery.take_context());
            inner.deliver(delivery, payload)
        }
    })
}
