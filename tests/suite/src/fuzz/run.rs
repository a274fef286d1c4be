use std::fmt;

use anyhow::{Context as _, Result};
use fastrand::Rng;

use super::{Field, Line, Request, generate, shrink};
use crate::subject::Subject;

/// The size of a run, and its seed.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed; the same seed makes the same tables and requests.
    pub seed: u64,
    /// The number of requests to each subject.
    pub cases: usize,
}

/// The number of requests for each table: serving a new table takes longer than a request.
const PER_TABLE: usize = 100;

impl Plan {
    /// A plan with a fixed seed and this number of requests, or ten times as many with `POINTWORK_LONG`.
    /// `POINTWORK_FUZZ_CASES` sets another number.
    ///
    /// # Errors
    /// If the variable is not a number.
    pub fn fixed(cases: usize) -> Result<Self> {
        let told = variable("POINTWORK_FUZZ_CASES")?.and_then(|told| usize::try_from(told).ok());
        Ok(Self {
            seed: 3,
            cases: told.unwrap_or(if std::env::var_os("POINTWORK_LONG").is_some() {
                10 * cases
            } else {
                cases
            }),
        })
    }

    /// A plan with the same number of requests and a random seed, unless `POINTWORK_FUZZ_SEED` sets the seed.
    ///
    /// # Errors
    /// If one of the variables is not a number.
    pub fn fresh(cases: usize) -> Result<Self> {
        // Small enough that the seeds of all later tables do not overflow.
        let seed = variable("POINTWORK_FUZZ_SEED")?.unwrap_or_else(|| fastrand::u64(..1 << 48));
        Ok(Self {
            seed,
            ..Self::fixed(cases)?
        })
    }
}

fn variable(name: &str) -> Result<Option<u64>> {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .map(Some)
            .with_context(|| format!("{name} is `{text}`, expected a number")),
        Err(_) => Ok(None),
    }
}

/// A table and a request, shrunk as far as possible, whose answers are wrong.
#[derive(Debug)]
pub struct Disagreement {
    seed: u64,
    table: Vec<Line>,
    request: Request,
    problem: anyhow::Error,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table: Vec<_> = self
            .table
            .iter()
            .map(|line| format!("{:?}", line.to_string()))
            .collect();
        write!(
            f,
            "{:#}\n\nseen with POINTWORK_FUZZ_SEED={}; for regressions.toml:\n\n[[once]]\nwhy = \"\"\ntable = [{}]\nrequest = \
             '''{}'''\n",
            self.problem,
            self.seed,
            table.join(", "),
            self.request
        )
    }
}

impl std::error::Error for Disagreement {}

/// Sends random requests to the subjects until the plan is done or an answer is wrong.
///
/// # Errors
/// The [`Disagreement`], or the failure of a subject to serve.
pub async fn run(subjects: &[&dyn Subject], plan: Plan) -> Result<()> {
    let mut left = plan.cases;
    // Each table has its own seed, so that a failing one can be repeated directly.
    for seed in plan.seed.. {
        let mut rng = Rng::with_seed(seed);
        let table = generate::table(&mut rng);
        let field = Field::open(subjects, &table).await?;
        for _ in 0..left.min(PER_TABLE) {
            let request = generate::request(&mut rng, &table);
            if let Err(problem) = field.check(&request).await {
                let found = shrunk(subjects, field, table, request, problem).await?;
                return Err(Disagreement { seed, ..found }.into());
            }
        }
        field.close().await;
        left = left.saturating_sub(PER_TABLE);
        if left == 0 {
            break;
        }
    }
    Ok(())
}

/// Shrinks request and table for as long as an answer is wrong.
async fn shrunk(
    subjects: &[&dyn Subject],
    mut field: Field,
    mut table: Vec<Line>,
    mut request: Request,
    mut problem: anyhow::Error,
) -> Result<Disagreement> {
    loop {
        let mut smaller = None;
        for simpler in shrink::simpler(&request) {
            if let Err(found) = field.check(&simpler).await {
                smaller = Some((simpler, found));
                break;
            }
        }
        if let Some(found) = smaller {
            (request, problem) = found;
            continue;
        }
        let mut fewer = None;
        for lines in shrink::smaller(&table) {
            let candidate = Field::open(subjects, &lines).await?;
            match candidate.check(&request).await {
                Err(found) => {
                    fewer = Some((lines, candidate, found));
                    break;
                }
                Ok(()) => candidate.close().await,
            }
        }
        let Some((lines, candidate, found)) = fewer else { break };
        std::mem::replace(&mut field, candidate).close().await;
        (table, problem) = (lines, found);
    }
    field.close().await;
    Ok(Disagreement {
        seed: 0,
        table,
        request,
        problem,
    })
}
