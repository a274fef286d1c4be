//! The places of connections: few and for a short time until a request with the token arrives, and others from then on.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The number of connections without an authorised request. One more takes the place of the oldest.
const UNAUTHORISED: usize = 32;

/// The time of a connection until its first authorised request has arrived.
const TIME: Duration = Duration::from_secs(5);

/// The number of connections with an authorised request. Operators and scrapers are few.
const AUTHORISED: usize = 64;

pub(crate) struct Places {
    unauthorised: Mutex<VecDeque<Weak<Place>>>,
    authorised: Arc<Semaphore>,
}

/// The place of one connection.
pub(crate) struct Place {
    places: Arc<Places>,
    replaced: Notify,
    authorised: OnceLock<OwnedSemaphorePermit>,
}

impl Places {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            unauthorised: Mutex::default(),
            authorised: Arc::new(Semaphore::new(AUTHORISED)),
        })
    }

    /// The place of a new connection, which may be that of the oldest unauthorised one.
    pub(crate) fn take(self: &Arc<Self>) -> Arc<Place> {
        let place = Arc::new(Place {
            places: self.clone(),
            replaced: Notify::new(),
            authorised: OnceLock::new(),
        });
        let mut unauthorised = self.unauthorised.lock();
        unauthorised.push_back(Arc::downgrade(&place));
        let oldest = (unauthorised.len() > UNAUTHORISED).then(|| unauthorised.pop_front());
        // The last owner of a place needs the lock.
        drop(unauthorised);
        if let Some(oldest) = oldest.flatten().and_then(|oldest| oldest.upgrade()) {
            oldest.replaced.notify_one();
        }
        place
    }
}

impl Place {
    /// A request of the connection is authorised: from now on no other connection takes its place. The result is whether
    /// there is a place for it.
    pub(crate) fn authorise(&self) -> bool {
        if self.authorised.get().is_none() {
            let Ok(permit) = self.places.authorised.clone().try_acquire_owned() else {
                return false;
            };
            // Requests of one connection come one after the other.
            let _ = self.authorised.set(permit);
            self.leave();
        }
        true
    }

    /// Ends when the connection has to be closed: another one takes its place, or its time is over. It never ends once the
    /// connection is authorised.
    pub(crate) async fn lost(&self) {
        // Either is a reason.
        let _ = tokio::time::timeout(TIME, self.replaced.notified()).await;
        if self.authorised.get().is_some() {
            std::future::pending().await
        }
    }

    fn leave(&self) {
        let mut unauthorised = self.places.unauthorised.lock();
        unauthorised.retain(|place| !std::ptr::eq(place.as_ptr(), self));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn authorised_connection_keeps_its_place_and_others_lose_theirs() {
        let places = Places::new();
        let (known, oldest) = (places.take(), places.take());
        assert!(known.authorise());
        let later: Vec<_> = (0..UNAUTHORISED).map(|_| places.take()).collect();
        oldest.lost().await;
        assert_eq!(places.unauthorised.lock().len(), UNAUTHORISED);
        let time = tokio::time::Instant::now();
        later[0].lost().await;
        assert!(time.elapsed() >= TIME);
        assert!(tokio::time::timeout(2 * TIME, known.lost()).await.is_err());
    }

    #[tokio::test]
    async fn authorised_connections_have_a_number_of_their_own() {
        let places = Places::new();
        let mut known: Vec<_> = (0..AUTHORISED).map(|_| places.take()).collect();
        assert!(known.iter().all(|place| place.authorise() && place.authorise()));
        let one_more = places.take();
        assert!(!one_more.authorise());
        known.pop();
        assert!(one_more.authorise());
    }
}
