//! The target of the configuration: takes any bytes, and panics where a promise of the configuration does not hold. A test
//! of the configuration runs it on its seeds.

use std::path::Path;

use pointwork_config::{Config, Error, ErrorKind};
use pointwork_core::is_unprintable;

/// A configuration: an error is one line with the place, and stands within the file. The same as the settings of a program:
/// an error names them.
///
/// # Panics
/// If a promise does not hold.
pub(crate) fn configuration(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(table) = text.parse::<toml::Table>() {
        let json = serde_json::to_string(&table).expect("tables are objects");
        let mut errors = vec![Config::from_json(&json).err()];
        // Such a directory would be created.
        if !json.contains("read-write") {
            errors.push(Config::default().module_from_json("shop", &json).err());
        }
        errors.iter().flatten().for_each(settings);
    }
    let file = Path::new("shop/pointwork.toml");
    let error = match Config::parse(&text, file) {
        Ok(config) => {
            let mut names: Vec<_> = config.modules.iter().map(|module| &module.name).collect();
            assert!(!names.iter().any(|name| name.is_empty()), "a module without a name");
            names.sort();
            names.dedup();
            assert_eq!(names.len(), config.modules.len(), "two modules have one name");
            assert!(
                config
                    .modules
                    .iter()
                    .all(|module| module.path.starts_with("shop") || module.path.is_absolute())
            );
            return;
        }
        Err(error) => error,
    };
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let message = error.to_string();
    assert!(!message.contains(is_unprintable), "{message:?}");
    let (problem, place) = message
        .rsplit_once(" in shop/pointwork.toml")
        .expect("the file is named");
    assert!(!problem.is_empty());
    let numbers = place.strip_prefix(':').and_then(|place| place.split_once(':'));
    let (line, column) = numbers.unwrap_or_else(|| panic!("no line and column: {message}"));
    let (line, column): (usize, usize) = (line.parse().expect("a line"), column.parse().expect("a column"));
    let lines: Vec<_> = text.split('\n').collect();
    assert!((1..=lines.len()).contains(&line), "{message}");
    assert!((1..=lines[line - 1].chars().count() + 1).contains(&column), "{message}");
}

/// Checks an error in the settings of a program.
fn settings(error: &Error) {
    let message = error.to_string();
    assert!(!message.contains(is_unprintable), "{message:?}");
    // A variable or a directory of the host is missing.
    if error.kind() == ErrorKind::Host {
        return;
    }
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let (problem, place) = message.rsplit_once("the settings").expect("they are named");
    assert!(
        !problem.is_empty() && ["", " of module `shop`"].contains(&place),
        "{message}"
    );
}
