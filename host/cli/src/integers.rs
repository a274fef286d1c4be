//! Warnings about integers that a module in JavaScript cannot have: its numbers are exact up to 2^53.

use pointwork::ModuleInfo;
use serde_json::Value;

/// The largest integer that is exact with all below it.
const EXACT: f64 = 9_007_199_254_740_991.0;

/// A warning for each JSON schema in the metadata of the module with an integer of 64 bits.
pub(crate) fn warnings(info: &ModuleInfo) -> Vec<String> {
    if info.language != "javascript" {
        return Vec::new();
    }
    let of_module = info.metadata.iter().map(|metadata| ("the module".to_owned(), metadata));
    let of_handlers = info.controllers.iter().flat_map(|controller| {
        controller.handlers.iter().flat_map(move |handler| {
            let name = format!("`{}.{}`", controller.name, handler.name);
            handler.metadata.iter().map(move |metadata| (name.clone(), metadata))
        })
    });
    let schemas = of_module
        .chain(of_handlers)
        .filter(|(_, (name, _))| name.ends_with("-schema"));
    schemas
        .flat_map(|(place, (name, schema))| {
            large(schema).into_iter().map(move |path| {
                let of = if path.is_empty() { String::new() } else { format!("`{path}` in ") };
                format!(
                    "{of}`{name}` of {place} is an integer past 2^53, which arrives as the nearest number in JavaScript; \
                     `ctx.text()` has its digits"
                )
            })
        })
        .collect()
}

/// The paths of integers in a schema that may be past 2^53.
fn large(schema: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(schema) = serde_json::from_str(schema) {
        find(&schema, "", &mut found);
    }
    found
}

fn find(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if is_large(value) {
                found.push(path.to_owned());
            }
            for (name, field) in fields {
                // Words of the schema are no part of the path of a value.
                let is_word = value["type"].is_string() || value["properties"].is_object() || name.starts_with('$');
                let below = match path {
                    _ if is_word => path.to_owned(),
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                find(field, &below, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| find(value, path, found)),
        _ => {}
    }
}

fn is_large(schema: &Value) -> bool {
    let past = |word: &str| schema[word].as_f64().is_some_and(|bound| bound.abs() > EXACT);
    let is_of_64_bits = matches!(schema["format"].as_str(), Some("int64" | "uint64"));
    schema["type"] == "integer" && (is_of_64_bits || past("maximum") || past("minimum"))
}

#[cfg(test)]
mod tests {
    use super::large;

    #[test]
    fn integers_of_64_bits_are_found_by_their_paths() {
        let none: [&str; 0] = [];
        assert_eq!(large(r#"{"type": "integer", "maximum": 9007199254740991}"#), none);
        assert_eq!(large(r#"{"type": "number", "maximum": 9007199254740993}"#), none);
        assert_eq!(large("no schema"), none);
        assert_eq!(large(r#"{"type": "integer", "format": "int64"}"#), [""]);
        assert_eq!(large(r#"{"type": "integer", "minimum": -9223372036854775808}"#), [""]);
        let schema = r##"{
            "type": "object",
            "properties": {
                "id": {"type": "integer", "format": "uint64"},
                "lines": {"type": "array", "items": {"type": "object", "properties": {"sum": {"type": "integer", "maximum": 1e19}}}}
            }
        }"##;
        assert_eq!(large(schema), ["id", "lines.sum"]);
    }
}
