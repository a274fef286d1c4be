//! The memory for the requests in flight: one limit for long heads, one for bodies, and a part of it for each module.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::options::RouterOptions;
use crate::routing::RouteRecord;
use crate::{Charge, MemoryAccount, MemoryExceeded};

/// The shortest head that is counted, in bytes. Counting shorter ones would cost each request an access to memory that all
/// threads share.
const LONG_HEAD: usize = 8 * 1024;

/// The memory for the requests of an application, over all of its tables. Clones are handles of the same memory.
///
/// The heads of a module's requests, and the bodies that it was given and has not taken, hold at most half of each limit, so
/// that others have the rest.
#[derive(Clone, Debug)]
pub struct RequestMemory(Arc<RequestAccounts>);

#[derive(Debug)]
struct RequestAccounts {
    all: Accounts,
    limits_of_module: [u64; 2],
    /// Of the modules that are in a table.
    modules: Mutex<HashMap<String, Accounts>>,
}

#[derive(Clone, Debug)]
struct Accounts {
    heads: Arc<MemoryAccount>,
    bodies: Arc<MemoryAccount>,
}

/// The memory for the requests of one table.
#[derive(Clone, Debug)]
pub(super) struct TableMemory {
    all: Accounts,
    /// By the place of a route in the table; `None` for one of the host application.
    of_modules: Arc<[Option<Accounts>]>,
}

impl RequestMemory {
    /// Memory with the limits of these options.
    pub fn new(options: &RouterOptions) -> Self {
        let limits = [options.head_memory, options.body_memory];
        Self(Arc::new(RequestAccounts {
            all: Accounts::new(limits),
            limits_of_module: limits.map(|limit| limit / 2),
            modules: Mutex::default(),
        }))
    }

    pub(super) fn of_table<'r>(&self, records: impl Iterator<Item = &'r Arc<RouteRecord>>) -> TableMemory {
        let RequestAccounts {
            all,
            limits_of_module,
            modules,
        } = &*self.0;
        let mut modules = modules.lock();
        modules.retain(|_, accounts| accounts.are_used());
        let of_route = |record: &Arc<RouteRecord>| {
            let accounts = modules.entry(record.module.clone()?);
            Some(accounts.or_insert_with(|| Accounts::new(*limits_of_module)).clone())
        };
        TableMemory {
            of_modules: records.map(of_route).collect(),
            all: all.clone(),
        }
    }
}

impl Accounts {
    fn new([heads, bodies]: [u64; 2]) -> Self {
        Self {
            heads: MemoryAccount::new(heads),
            bodies: MemoryAccount::new(bodies),
        }
    }

    /// Whether a table or a charge has one of them.
    fn are_used(&self) -> bool {
        [&self.heads, &self.bodies]
            .iter()
            .any(|account| Arc::strong_count(account) > 1)
    }
}

impl TableMemory {
    /// Counts the head of a request for a route, by the place of the route in the table, if the head is long.
    ///
    /// # Errors
    /// It would go past the limit of all heads, or of the module's.
    pub(super) fn charge_head(&self, route: usize, bytes: usize) -> Result<[Charge; 2], MemoryExceeded> {
        if bytes < LONG_HEAD {
            return Ok(<[Charge; 2]>::default());
        }
        let of_module = self.of_modules.get(route).and_then(Option::as_ref);
        let of_module = of_module
            .map(|accounts| accounts.heads.charge(bytes as u64))
            .transpose()?;
        Ok([of_module.unwrap_or_default(), self.all.heads.charge(bytes as u64)?])
    }

    /// Counts all bodies.
    pub(super) fn bodies(&self) -> &Arc<MemoryAccount> {
        &self.all.bodies
    }

    /// Counts the bodies of the module that has a route.
    pub(super) fn bodies_of_module(&self, route: usize) -> Option<&Arc<MemoryAccount>> {
        self.of_modules.get(route)?.as_ref().map(|accounts| &accounts.bodies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Origin;

    #[test]
    fn long_heads_of_one_module_leave_half_of_the_memory() {
        let mut options = RouterOptions::new();
        options.head_memory = 4 * LONG_HEAD as u64;
        let record = |module: Option<&str>| {
            Arc::new(RouteRecord {
                method: "GET".to_owned(),
                path: "/".to_owned(),
                origin: Origin::Decorator,
                module: module.map(str::to_owned),
                controller: None,
                handler: None,
                unavailable_on: Vec::new(),
            })
        };
        let records = [record(Some("one")), record(Some("two")), record(None)];
        let memory = RequestMemory::new(&options);
        let table = memory.of_table(records.iter());
        let held = [(); 2].map(|()| table.charge_head(0, LONG_HEAD).unwrap());
        assert!(table.charge_head(0, LONG_HEAD).is_err());
        assert!(table.charge_head(0, LONG_HEAD - 1).is_ok());
        // Another table counts on.
        let next = memory.of_table(records.iter().rev());
        drop(table);
        assert!(next.charge_head(2, LONG_HEAD).is_err());
        let others = [
            next.charge_head(1, LONG_HEAD).unwrap(),
            next.charge_head(0, LONG_HEAD).unwrap(),
        ];
        assert!(next.charge_head(0, LONG_HEAD).is_err());
        drop((held, others));
        assert!(next.charge_head(2, LONG_HEAD).is_ok());
    }
}
