//! Conflicts between routes.

use std::fmt;

use pointwork_patterns::Pattern;

use super::method::MethodFilter;
use super::owner::Owner;
use super::table::RouteEntry;
use crate::error::lines;

/// One of the two routes of a [`Conflict`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// The route's pattern, with its own parameter names.
    pub pattern: Pattern,
    /// The owner of the route.
    pub owner: Owner,
}

impl Party {
    pub(super) fn of<T>(entry: &RouteEntry<T>) -> Self {
        Self {
            pattern: entry.pattern.clone(),
            owner: entry.owner.clone(),
        }
    }
}

/// Two routes with the same method and the same shape (spec P7).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Conflict {
    pub(super) filter: MethodFilter,
    pub(super) later: Party,
    pub(super) earlier: Party,
}

impl Conflict {
    /// The method that both answer.
    pub fn filter(&self) -> &MethodFilter {
        &self.filter
    }

    /// The route that was declared second.
    pub fn later(&self) -> &Party {
        &self.later
    }

    /// The route that was declared first.
    pub fn earlier(&self) -> &Party {
        &self.earlier
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { filter, later, earlier } = self;
        let same_module = match (&later.owner, &earlier.owner) {
            (Owner::Module { module: later, .. }, Owner::Module { module: earlier, .. }) => later == earlier,
            _ => false,
        };
        write!(f, "route {filter} {} of ", later.pattern)?;
        let (later, pattern, earlier) = (&later.owner, &earlier.pattern, &earlier.owner);
        if same_module {
            // The name of the module would not distinguish the two.
            write!(f, "{later:#} conflicts with {pattern} of {earlier:#}")
        } else {
            write!(f, "{later} conflicts with {pattern} of {earlier}")
        }
    }
}

/// Every conflict of one set of routes; at least one. Displayed, each has a line, and those past 20 are counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(list))]
pub struct Conflicts {
    pub(super) list: Vec<Conflict>,
}

impl Conflicts {
    /// The conflicts, in the order of the later route's declaration.
    pub fn list(&self) -> &[Conflict] {
        &self.list
    }
}
