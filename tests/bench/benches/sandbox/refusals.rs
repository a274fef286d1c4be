//! Bad swaps: the number that is published. `--count` is 1,000, `--seed` repeats a run.
//!
//! A bad version has bytes damaged at random, or another fault: its world, a conflict, its probe, its health, its
//! digest. Damaged bytes can still be a valid component, for example with another text or another name in a custom
//! section. Therefore half of the damaged components come with the digest of the intact ones, and all of these have to
//! be refused. Of the others, published ones are counted separately and have to answer requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use pointwork::{App, AppOptions, Delivery, ModuleLimits, ModuleOptions, Payload};
use pointwork_bench::servers::start_on;
use pointwork_suite::guest::{Controller, Discovery, Guest, Program, foreign_component};

use crate::client::{Connection, get};
use crate::{Verdict, number, random};

const NAME: &str = "shop";

/// The faults of a swap.
const WRONGS: [&str; 9] = [
    "cut off, with digest",
    "cut off, without",
    "bits flipped, with digest",
    "bits flipped, without",
    "another world",
    "a conflict",
    "a probe that traps",
    "a probe that loops",
    "not well",
];

/// The only kind whose damage may be harmless.
fn may_be_harmless(wrong: usize) -> bool {
    matches!(wrong, 1 | 3)
}

fn version(word: &str, more: impl FnOnce(Guest) -> Guest) -> Vec<u8> {
    let things = Controller::new("Things", "/")
        .get("version", Program::text(word))
        .get("sick", Program::text("sick").status(500));
    more(Guest::with(things)).build()
}

/// The components from which bad swaps are made.
struct Parts {
    next: Vec<u8>,
    /// The digest of `next`, as an uploader would state it.
    digest: String,
    conflict: Vec<u8>,
    traps: Vec<u8>,
    loops: Vec<u8>,
}

impl Parts {
    fn new(digest: String) -> Self {
        let rival = Controller::new("Rival", "/").get("manual/:other", Program::text("rival"));
        Self {
            next: version("next", |guest| guest),
            digest,
            conflict: version("next", |guest| guest.controller(rival)),
            traps: version("next", |guest| guest.discovery(Discovery::Traps)),
            loops: version("next", |guest| guest.discovery(Discovery::Loops)),
        }
    }

    /// A swap with that fault.
    fn bad(&self, wrong: usize, random: &mut fastrand::Rng) -> (Vec<u8>, ModuleOptions) {
        let limits = ModuleLimits::new().probe(Duration::from_millis(50));
        let options = ModuleOptions::new().limits(limits);
        match wrong {
            0 => (self.cut(random), options.digest(&self.digest)),
            1 => (self.cut(random), options),
            2 => (self.flipped(random), options.digest(&self.digest)),
            3 => (self.flipped(random), options),
            4 => (foreign_component(), options),
            5 => (self.conflict.clone(), options),
            6 => (self.traps.clone(), options),
            7 => (self.loops.clone(), options),
            _ => (self.next.clone(), options.health("/sick")),
        }
    }

    fn cut(&self, random: &mut fastrand::Rng) -> Vec<u8> {
        self.next[..random.usize(..self.next.len())].to_vec()
    }

    fn flipped(&self, random: &mut fastrand::Rng) -> Vec<u8> {
        let mut component = self.next.clone();
        for _ in 0..random.usize(1..=8) {
            let at = random.usize(..component.len());
            component[at] ^= 1 << random.u32(..8);
        }
        // Two flips of the same bit cancel out.
        if component == self.next {
            component[0] ^= 1;
        }
        component
    }
}

/// The results of the swaps of one kind.
#[derive(Clone, Copy, Default)]
struct Row {
    swaps: u64,
    refused: u64,
    harmless: u64,
    published: u64,
}

pub(crate) fn run() -> Result<()> {
    let mut random = random()?;
    let count = number("--count", 1_000)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let app = App::with_options(AppOptions::new())?;
    app.get("/manual/:id", |_| async { "manual" })?;
    let told = Arc::<AtomicU64>::default();
    let hears = told.clone();
    app.channel("server")
        .on_raw("refused", move |_: Delivery, _: Payload| {
            hears.fetch_add(1, Ordering::SeqCst);
            async { Ok(Payload::null()) }
        })?;
    let good = version("good", |guest| guest);
    let good_digest = runtime.block_on(app.module(NAME).bytes(good.clone()).load())?.digest;
    let address = start_on(&app, "hyper")?;
    // The application reports the digest of the intact next version.
    let next = runtime.block_on(app.module(NAME).bytes(version("next", |guest| guest)).swap())?;
    runtime.block_on(app.module(NAME).bytes(good.clone()).swap())?;
    let parts = Parts::new(next.digest.context("the version has no digest")?);

    let mut rows = [Row::default(); WRONGS.len()];
    let mut disturbed = 0_u64;
    for at in 0..count {
        let wrong = usize::try_from(at)? % WRONGS.len();
        let (component, options) = parts.bad(wrong, &mut random);
        let row = &mut rows[wrong];
        row.swaps += 1;
        let swapped = runtime.block_on(app.module(NAME).bytes(component).options(options).swap());
        let answer = runtime.block_on(ask(address))?;
        if swapped.is_err() {
            row.refused += 1;
            let current = app.modules().into_iter().find(|module| module.name == NAME);
            let is_old = current.is_some_and(|module| module.digest == good_digest);
            disturbed += u64::from(!is_old || answer != (200, b"good".to_vec()));
            continue;
        }
        if may_be_harmless(wrong) && answer.0 == 200 {
            row.harmless += 1;
        } else {
            row.published += 1;
        }
        runtime.block_on(app.module(NAME).bytes(good.clone()).swap())?;
    }
    let refused: u64 = rows.iter().map(|row| row.refused).sum();
    let deadline = Instant::now() + Duration::from_secs(5);
    while told.load(Ordering::SeqCst) < refused && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    report(&rows, told.load(Ordering::SeqCst), disturbed)
}

fn report(rows: &[Row], told: u64, disturbed: u64) -> Result<()> {
    println!(
        "{:<26} {:>6} {:>8} {:>18} {:>10}",
        "", "swaps", "refused", "valid all the same", "published"
    );
    let mut all = Row::default();
    for (name, row) in WRONGS.iter().zip(rows) {
        print(name, row);
        all.swaps += row.swaps;
        all.refused += row.refused;
        all.harmless += row.harmless;
        all.published += row.published;
    }
    print("all", &all);
    println!("`server:refused` told of {told}; after {disturbed} refusals something else than the old version served");
    let mut verdict = Verdict::default();
    verdict.zero("bad swaps were published", all.published);
    verdict.zero("refusals changed what is served", disturbed);
    verdict.holds(told == all.refused, || {
        format!("`server:refused` told of {told} refusals, expected {}", all.refused)
    });
    verdict.end()
}

fn print(name: &str, row: &Row) {
    println!(
        "{name:<26} {:>6} {:>8} {:>18} {:>10}",
        row.swaps, row.refused, row.harmless, row.published
    );
}

async fn ask(address: SocketAddr) -> Result<(u16, Vec<u8>)> {
    let mut connection = Connection::open(address).await?;
    let reply = connection.ask(&get("/version")).await?;
    ensure!(reply.status != 404, "no version has `/version`");
    Ok((reply.status, reply.body.clone()))
}
