//! Composes a component that imports WASI 0.2 with the answers of Pointwork: `compose IN OUT [GRANT…]`. Imports that begin with a grant,
//! such as `wasi:filesystem/`, stay. The build of the Python package and its tests use it.

use std::error::Error;
use std::{env, fs};

use pointwork_wasi::compose;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(component), Some(composed)) = (arguments.next(), arguments.next()) else {
        return Err("expected `compose IN OUT [GRANT…]`".into());
    };
    let grants: Vec<String> = arguments.collect();
    let is_granted = |import: &str| grants.iter().any(|grant| import.starts_with(grant));
    fs::write(composed, compose(&fs::read(component)?, is_granted)?)?;
    Ok(())
}
