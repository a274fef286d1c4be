//! The queue of log lines: a thread that logs never waits for the stream.
//!
//! `tracing-appender` bounds the number of lines, but not their bytes, and does not count the lines that it fails to
//! write.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{mem, thread};

use parking_lot::{Condvar, Mutex, MutexGuard};
use tracing_subscriber::fmt::MakeWriter;

/// The most bytes of lines that wait. The write that is under way may have the same size.
const LIMIT: usize = 2 * 1024 * 1024;

/// A buffer that grew beyond this is freed once its lines are written.
const KEPT_CAPACITY: usize = 64 * 1024;

/// The pause before the next try, if a stream that another process made non-blocking is full.
const RETRY: Duration = Duration::from_millis(10);

/// The time for which lines gather before they are written: the thread wakes once for the lines of many requests.
const GATHER: Duration = Duration::from_millis(1);

/// Makes the line for a number of lines that were dropped.
type Notice = Box<dyn Fn(u64) -> Vec<u8> + Send>;

/// Lines that a thread of their own writes, in their order. A line without room, and one that cannot be written, is
/// dropped and counted; once writing works again, a line in the place of the dropped ones has their number. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LogQueue(Arc<SharedQueue>);

#[derive(Default)]
struct SharedQueue {
    state: Mutex<QueueContent>,
    filled: Condvar,
    emptied: Condvar,
    /// All lines that were dropped.
    dropped: Arc<AtomicU64>,
}

#[derive(Default)]
struct QueueContent {
    waiting: Lines,
    /// The lines that were dropped after those that wait.
    dropped: u64,
    is_writing: bool,
}

#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    /// The end of each line.
    ends: Vec<usize>,
}

impl LogQueue {
    /// Starts the thread. It lives as long as the process.
    pub(crate) fn start(stream: impl Write + Send + 'static, notice: Notice) -> io::Result<Self> {
        let queue = Self(Arc::default());
        let mut output = Output {
            stream,
            notice,
            dropped: queue.0.dropped.clone(),
            unreported: 0,
            is_in_line: false,
        };
        let shared = queue.0.clone();
        let thread = thread::Builder::new().name("pointwork-log".to_owned());
        thread.spawn(move || shared.write_to(&mut output))?;
        Ok(queue)
    }

    /// Appends a line with its line feed, or drops it.
    pub(crate) fn push(&self, line: &[u8]) {
        let mut state = self.0.state.lock();
        // While lines are missing, no later one may take their place.
        if state.dropped > 0 || state.waiting.text.len() + line.len() > LIMIT {
            state.dropped += 1;
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        } else {
            state.waiting.push(line);
        }
        drop(state);
        self.0.filled.notify_one();
    }

    /// Waits until every line is written or dropped, for that time at most.
    pub(crate) fn flush(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let mut state = self.0.state.lock();
        while !state.is_empty() || state.is_writing {
            if self.0.emptied.wait_until(&mut state, until).timed_out() {
                return;
            }
        }
    }

    /// The number of lines that were dropped since the start.
    pub(crate) fn dropped(&self) -> Arc<AtomicU64> {
        self.0.dropped.clone()
    }
}

impl SharedQueue {
    fn write_to(&self, output: &mut Output<impl Write>) {
        let mut lines = Lines::default();
        loop {
            let mut state = self.state.lock();
            state.is_writing = false;
            while state.is_empty() {
                self.emptied.notify_all();
                self.filled.wait(&mut state);
            }
            MutexGuard::unlocked(&mut state, || thread::sleep(GATHER));
            state.is_writing = true;
            mem::swap(&mut state.waiting, &mut lines);
            let dropped = mem::take(&mut state.dropped);
            drop(state);
            output.write(&lines, dropped);
            lines.clear();
        }
    }
}

impl QueueContent {
    fn is_empty(&self) -> bool {
        self.waiting.ends.is_empty() && self.dropped == 0
    }
}

impl Lines {
    fn push(&mut self, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.ends.push(self.text.len());
    }

    fn clear(&mut self) {
        if self.text.capacity() > KEPT_CAPACITY {
            *self = Self::default();
        }
        self.text.clear();
        self.ends.clear();
    }
}

/// The thread's side.
struct Output<W> {
    stream: W,
    notice: Notice,
    dropped: Arc<AtomicU64>,
    /// The dropped lines that no line tells of yet.
    unreported: u64,
    /// Whether the stream ends within a line.
    is_in_line: bool,
}

impl<W: Write> Output<W> {
    /// Writes lines, after which others were dropped.
    fn write(&mut self, lines: &Lines, dropped: u64) {
        self.report();
        let written = self.try_write(&lines.text);
        let whole = lines.ends.partition_point(|end| *end <= written);
        let lost = (lines.ends.len() - whole) as u64;
        self.dropped.fetch_add(lost, Ordering::Relaxed);
        self.unreported += lost + dropped;
        self.report();
    }

    fn report(&mut self) {
        if self.unreported > 0 {
            let notice = (self.notice)(self.unreported);
            if self.try_write(&notice) == notice.len() {
                self.unreported = 0;
            }
        }
    }

    /// Writes whole lines. The result is the number of bytes that were written; what is left is lost.
    fn try_write(&mut self, text: &[u8]) -> usize {
        if self.is_in_line && !text.is_empty() {
            if self.write_bytes(b"\n") == 0 {
                return 0;
            }
            self.is_in_line = false;
        }
        let written = self.write_bytes(text);
        self.is_in_line |= text[..written].last().is_some_and(|byte| *byte != b'\n');
        written
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> usize {
        let mut written = 0;
        while written < bytes.len() {
            match self.stream.write(&bytes[written..]) {
                Ok(0) => break,
                Ok(length) => written += length,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock => thread::sleep(RETRY),
                    _ => break,
                },
            }
        }
        written
    }
}

impl<'a> MakeWriter<'a> for LogQueue {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> &'a Self {
        self
    }
}

/// Each write is a line.
impl Write for &LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Takes this number of bytes, and then fails.
    struct Disk {
        text: Vec<u8>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let length = bytes.len().min(self.room);
            if length == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.room -= length;
            self.text.extend_from_slice(&bytes[..length]);
            Ok(length)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn notice() -> Notice {
        Box::new(|count| format!("{count} dropped\n").into_bytes())
    }

    fn lines(texts: &[&str]) -> Lines {
        let mut lines = Lines::default();
        texts.iter().for_each(|text| lines.push(text.as_bytes()));
        lines
    }

    fn output(room: usize) -> Output<Disk> {
        Output {
            stream: Disk { text: Vec::new(), room },
            notice: notice(),
            dropped: Arc::default(),
            unreported: 0,
            is_in_line: false,
        }
    }

    #[test]
    fn lines_that_do_not_fit_the_disk_are_counted_and_reported_once_there_is_room() {
        let mut output = output(8);
        output.write(&lines(&["one\n", "two\nmore\n", "three\n"]), 0);
        output.write(&lines(&["four\n"]), 0);
        assert_eq!(output.dropped.load(Ordering::Relaxed), 3);
        output.stream.room = 1000;
        output.write(&lines(&["five\n"]), 0);
        let text = String::from_utf8(output.stream.text).expect("text");
        assert_eq!(text, "one\ntwo\n3 dropped\nfive\n");
    }

    #[test]
    fn half_a_line_is_ended_before_the_next_one() {
        let mut output = output(6);
        output.write(&lines(&["one\n", "two\n"]), 0);
        output.stream.room = 1000;
        output.write(&lines(&["three\n"]), 0);
        let text = String::from_utf8(output.stream.text).expect("text");
        assert_eq!(text, "one\ntw\n1 dropped\nthree\n");
    }

    #[test]
    fn dropped_lines_are_reported_in_their_place() {
        let mut output = output(1000);
        output.write(&lines(&["one\n"]), 7);
        output.write(&lines(&["two\n"]), 0);
        let text = String::from_utf8(output.stream.text).expect("text");
        assert_eq!(text, "one\n7 dropped\ntwo\n");
    }

    /// A pipe that nobody reads until it is told to.
    struct Pipe {
        open: mpsc::Receiver<()>,
        lines: mpsc::Sender<Vec<u8>>,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // An error means that it stays open.
            let _ = self.open.recv();
            let _ = self.lines.send(bytes.to_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stream_that_blocks_holds_nobody_up_and_keeps_a_bounded_number_of_bytes() {
        let ((open, opened), (sent, received)) = (mpsc::channel(), mpsc::channel());
        let pipe = Pipe {
            open: opened,
            lines: sent,
        };
        let queue = LogQueue::start(pipe, notice()).expect("a thread");
        let mut line = [b'x'; 64 * 1024];
        line[line.len() - 1] = b'\n';
        for _ in 0..100 {
            queue.push(&line);
        }
        queue.flush(Duration::from_millis(1));
        let dropped = queue.dropped().load(Ordering::Relaxed);
        let most = (LIMIT / line.len()) as u64;
        assert!((100 - 2 * most..=100 - most).contains(&dropped), "{dropped}");
        drop(open);
        queue.flush(Duration::from_secs(60));
        queue.push(b"last\n");
        queue.flush(Duration::from_secs(60));
        let text = received.try_iter().flatten().collect::<Vec<_>>();
        let end = format!("{dropped} dropped\nlast\n");
        assert!(text.ends_with(end.as_bytes()));
        assert_eq!(text.len(), (100 - dropped as usize) * line.len() + end.len());
    }
}
