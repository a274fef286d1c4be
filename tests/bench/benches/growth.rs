//! The cost of the last of many routes, as a ratio to the first, on each adapter: `cargo bench --manifest-path
//! tests/bench/Cargo.toml --bench growth`.
//!
//! All routes have the same number of segments and the same beginning: the worst case for a framework that tries its
//! routes in turn. `-- --rounds 15` runs more rounds.

use anyhow::Result;
use pointwork::{App, Context};
use pointwork_bench::bare::FRAMEWORKS;
use pointwork_bench::load::{Burst, Series, burst, flag, rounds};
use pointwork_bench::servers::start_on;

const ROUTES: usize = 1000;

fn main() -> Result<()> {
    if flag("--test") {
        return Ok(());
    }
    let app = App::new()?;
    for route in 0..ROUTES {
        app.get(&format!("/api/r{route:04}/:id"), |ctx: Context| async move {
            ctx.param("id").map(str::to_owned)
        })?;
    }
    let mut subjects = Vec::new();
    for (framework, _) in FRAMEWORKS {
        let address = start_on(&app, framework)?;
        let url = |route: usize| format!("http://{address}/api/r{route:04}/42");
        subjects.push((framework, url(0), url(ROUTES - 1)));
    }
    let mut series = vec![Series::default(); subjects.len()];
    for round in 0..=rounds(7) {
        for ((_, first, last), series) in subjects.iter().zip(&mut series) {
            let (first, last): (Burst, Burst) = (burst(first)?, burst(last)?);
            if round > 0 {
                // The inverse: the ratio of costs, last to first.
                series.add(first, last);
            }
        }
    }
    println!(
        "{:<10} {:>20} {:>17}",
        "framework", "last to first of 1000", "min to max"
    );
    for ((framework, ..), series) in subjects.iter().zip(&series) {
        let (least, middle, most) = series.speed();
        println!("{framework:<10} {middle:>20.3} {least:>8.3} {most:>8.3}");
    }
    Ok(())
}
