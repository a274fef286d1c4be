//! Publishes the events of a channel in their order.

use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::stream::poll_fn;
use pointwork_core::{Order, Receipt, RecordedEvent};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::channel::Channel;
use crate::envelope;

/// The events without an order that are published beside each other.
const AT_ONCE: usize = 256;

/// A queue for each partition. The core bounds what waits in all of them.
#[derive(Clone)]
pub(crate) struct Publishers {
    queues: Arc<[UnboundedSender<Unpublished>]>,
}

struct Unpublished {
    event: RecordedEvent,
    receipt: Receipt,
    until: Instant,
}

impl Publishers {
    pub(crate) fn new(channel: &Arc<Channel>) -> Self {
        let (queues, at_once) = match channel.options.order {
            Order::Channel => (1, 1),
            Order::Key(_) => (channel.options.partitions, 1),
            Order::None => (1, AT_ONCE),
        };
        let queue = |_| {
            let (sender, queue) = unbounded_channel();
            channel
                .connection
                .runtime
                .spawn(publish_all(channel.clone(), queue, at_once));
            sender
        };
        Self {
            queues: (0..queues).map(queue).collect(),
        }
    }

    /// Publishes an event until the server has acknowledged it, or `until` has come.
    pub(crate) fn publish(&self, event: RecordedEvent, receipt: Receipt, until: Instant) {
        let queue = &self.queues[usize::from(event.partition) % self.queues.len()];
        // The queue has an end only if the runtime has one; the receipt that is dropped refuses the event.
        let _ended = queue.send(Unpublished { event, receipt, until });
    }
}

/// With an order, one event follows the acknowledgement of the one before: one that is published again would else come behind those
/// that followed it.
async fn publish_all(channel: Arc<Channel>, mut queue: UnboundedReceiver<Unpublished>, at_once: usize) {
    let waiting = poll_fn(|cx| queue.poll_recv(cx));
    let publish =
        async |Unpublished { event, receipt, until }| match channel.publish(&event, &envelope::id(&event), until).await
        {
            Ok(()) => receipt.confirm(),
            Err(reason) => receipt.refuse(reason),
        };
    waiting.for_each_concurrent(at_once, publish).await;
}
