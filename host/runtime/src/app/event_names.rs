//! The names of events in use, which a change must not alter in silence (spec C2).

use std::collections::{BTreeMap, HashSet};

use pointwork_core::{ListenerName, StagedListeners};

use crate::app::binder::Binder;
use crate::app::module::Module;
use crate::app::publish::Purpose;
use crate::{Error, ErrorKind};

/// The user of an event name.
struct User<'a> {
    module: &'a str,
    /// Whether the changed module uses the name, which its version before did not.
    is_new: bool,
}

/// The most listeners that a refusal names.
const MAX_SHOWN: usize = 8;

/// Checks what the names in use reach: those that modules declare to use, and those of all listeners.
///
/// A version that was accepted before is accepted again: by a roll-back, and at a restart, where an altered name is
/// logged.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused) if a name becomes ambiguous, or reaches another channel than before, or none, unless
/// the options of the module name the channel.
pub(super) fn check_event_names(
    changed: &Module,
    purpose: &Purpose,
    current: Option<&Module>,
    staged: &StagedListeners<'_>,
    binder: &Binder,
) -> Result<(), Error> {
    // Another module, which is loaded before it, may have changed since the version was accepted.
    let was_accepted = matches!(purpose, Purpose::Restore { .. } | Purpose::StandIn);
    let mut names: BTreeMap<_, _> = staged.names().map(|name| (name.to_owned(), None)).collect();
    let used_before = current.map_or(&[][..], |current| &current.info.events_used);
    let used_before: HashSet<_> = used_before.iter().collect();
    for user in binder.modules() {
        let is_changed = user.info.name == changed.info.name;
        for event in &user.info.events_used {
            let is_new = is_changed && !used_before.contains(event);
            let module = &*user.info.name;
            let user = names.entry(event.clone()).or_insert(None);
            if is_new || user.is_none() {
                *user = Some(User { module, is_new });
            }
        }
    }
    for (name, user) in &names {
        let [before, after] = staged.readings(name);
        let is_altered = match (&*before, &*after) {
            ([_], []) | ([] | [_], [_, _, ..]) => true,
            ([before], [after]) => (&before.channel, &before.event) != (&after.channel, &after.event),
            // It was allowed where it became ambiguous, unless channels of the host application made it so.
            (_, [_, _, ..]) => user.as_ref().is_some_and(|user| user.is_new) && !is_allowed(binder, &after),
            _ => false,
        };
        if !is_altered {
            continue;
        }
        let channel = channel_to_allow(changed, name, &before, &after);
        let allows = |module: &Module| module.options.channels.iter().any(|allowed| allowed == channel);
        if allows(changed) || (was_accepted && binder.modules().any(|module| allows(module))) {
            continue;
        }
        let error = altered(&changed.info.name, name, user.as_ref(), &before, &after, channel);
        if !was_accepted {
            return Err(error);
        }
        let reason = pointwork_core::error_chain(&error);
        tracing::error!(
            module = changed.info.name,
            "the names of events changed with the restart: {reason}"
        );
    }
    Ok(())
}

/// Whether a module may take names for one of the listeners' channels.
fn is_allowed(binder: &Binder, listeners: &[ListenerName]) -> bool {
    let allows = |channel: &String| listeners.iter().any(|listener| *listener.channel == **channel);
    binder
        .modules()
        .any(|module| module.options.channels.iter().any(allows))
}

/// The channel of the module that alters a name: it takes the name, or is named by its first part, or gave it up.
fn channel_to_allow<'a>(
    module: &'a Module,
    name: &'a str,
    before: &'a [ListenerName],
    after: &'a [ListenerName],
) -> &'a str {
    let is_own = |listener: &&ListenerName| listener.module.as_ref() == Some(&module.info.name);
    let (first, _) = name.split_once(':').unwrap_or((name, ""));
    let own = |listeners: &'a [ListenerName]| listeners.iter().find(is_own).map(|listener| &*listener.channel);
    let named = || {
        module
            .info
            .channels
            .iter()
            .any(|channel| channel.name == first)
            .then_some(first)
    };
    let any = || Some(&*before.iter().chain(after).next()?.channel);
    own(after)
        .or_else(named)
        .or_else(|| own(before))
        .or_else(any)
        .unwrap_or(first)
}

fn altered(
    module: &str,
    name: &str,
    user: Option<&User<'_>>,
    before: &[ListenerName],
    after: &[ListenerName],
    channel: &str,
) -> Error {
    let list = |listeners: &[ListenerName]| match listeners {
        [] => "no listener".to_owned(),
        listeners => {
            let mut names: Vec<_> = listeners.iter().take(MAX_SHOWN).map(ToString::to_string).collect();
            if listeners.len() > MAX_SHOWN {
                names.push(format!("{} others", listeners.len() - MAX_SHOWN));
            }
            names.join(" and ")
        }
    };
    let used = user.map_or_else(String::new, |user| format!(", which module `{}` uses,", user.module));
    let is_ambiguous = after.len() > 1;
    let message = if before == after {
        format!("event `{name}`{used} could be {}", list(after))
    } else {
        let would = if is_ambiguous { "could be" } else { "would reach" };
        let (before, after) = (list(before), list(after));
        format!("event `{name}`{used} reaches {before}, and then {would} {after}")
    };
    let mut hint =
        format!("if that is meant, allow it with `channels = [{channel:?}]` in the `[[module]]` of `{module}`");
    if is_ambiguous {
        let named = after
            .first()
            .map(|listener| format!("{}:{}", listener.channel, listener.event));
        let named = named.unwrap_or_default();
        hint.push_str(&format!(
            "; who calls `{name}` then fails with `ambiguous-event`, unless they name the channel, as in `{named}`"
        ));
    }
    Error::new(ErrorKind::Refused, message).with_hint(hint)
}
