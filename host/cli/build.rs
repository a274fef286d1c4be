//! Packs the sources of the SDKs into the command: `pointwork new` writes them into projects.
//!
//! In a checkout they are below `guest`. A published package has no such folder beside it; it contains the packed
//! file `sdk.rs`, which `POINTWORK_WRITE_SDK=1 cargo check -p pointwork-cli` writes before `cargo package`.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The packages of the SDK, as folders below that of `pointwork-guest`.
const PACKAGES: [&str; 4] = ["", "macros/", "events/", "patterns/"];

/// `cargo fmt --all` formats path dependencies too.
const RUSTFMT: &str = "disable_all_formatting = true\n";

/// A path dependency shows the lints of a newer compiler, which a dependency from a registry does not. The attribute also
/// holds under `RUSTFLAGS="-D warnings"`, unlike a table `[lints]`.
const ALLOW: &str = "#![allow(warnings)] // Vendored: `pointwork vendor` writes this folder.\n";

fn main() -> Result<()> {
    let package = PathBuf::from(env("CARGO_MANIFEST_DIR")?);
    let packed = package.join("sdk.rs");
    println!("cargo::rerun-if-env-changed=POINTWORK_WRITE_SDK");
    // Cargo adds this file to each package that it makes.
    let text = if package.join("Cargo.toml.orig").exists() {
        read(&packed)?
    } else {
        let root = package.join("../..").canonicalize()?;
        let text = format!(
            "Packed {{ rust: {}, js: {}, python: {} }}\n",
            list(&pack(&root)?)?,
            list(&pack_js(&root)?)?,
            list(&pack_python(&root)?)?
        );
        if std::env::var_os("POINTWORK_WRITE_SDK").is_some_and(|value| value == "1") {
            fs::write(&packed, &text)?;
        }
        text
    };
    fs::write(Path::new(&env("OUT_DIR")?).join("sdk.rs"), text)?;
    Ok(())
}

/// The files as a Rust expression: a slice of paths and texts, sorted by path.
fn list(files: &[(String, String)]) -> Result<String> {
    let mut list = String::from("&[\n");
    for (path, text) in files {
        writeln!(list, "    ({path:?}, {text:?}),")?;
    }
    list.push(']');
    Ok(list)
}

/// The licence, and the README of a copy for projects in a language.
fn about(root: &Path, language: &str) -> Result<Vec<(String, String)>> {
    let readme = format!("host/cli/src/toolchains/{language}/template/vendor.md.in");
    let readme = read(&root.join(readme))?.replace("@VERSION@", &env("CARGO_PKG_VERSION")?);
    Ok(vec![
        ("LICENSE".to_owned(), read(&root.join("LICENSE"))?),
        ("README.md".to_owned(), readme),
    ])
}

/// The files of the copy for TypeScript. The project compiles it.
fn pack_js(root: &Path) -> Result<Vec<(String, String)>> {
    let folder = root.join("guest/js");
    let mut files = about(root, "ts")?;
    for name in [".gitignore", "tsconfig.json"] {
        files.push((name.to_owned(), read(&folder.join(name))?));
    }
    let manifest = without_development(&read(&folder.join("package.json"))?);
    files.push((
        "package.json".to_owned(),
        manifest.ok_or("guest/js/package.json: no `devDependencies` at its end")?,
    ));
    sources(&folder.join("src"), "src", &[".ts"], &mut files)?;
    for name in ["wasi", "wit"] {
        sources(&folder.join(name), name, &[".wit"], &mut files)?;
    }
    files.sort();
    Ok(files)
}

/// A package.json without what only the tests need. It is cut as text: the order of its keys has a meaning.
fn without_development(manifest: &str) -> Option<String> {
    let begin = manifest.find(",\n  \"devDependencies\": {")?;
    let length = manifest[begin..].find("\n  }")? + "\n  }".len();
    Some(format!("{}{}", &manifest[..begin], &manifest[begin + length..]))
}

/// The files of the copy for Python, which the project installs by its path.
fn pack_python(root: &Path) -> Result<Vec<(String, String)>> {
    let folder = root.join("guest/python");
    let mut files = about(root, "python")?;
    files.push((".gitignore".to_owned(), read(&folder.join(".gitignore"))?));
    let manifest = read(&folder.join("pyproject.toml"))?;
    // The tables from there on are for the tests.
    let end = manifest.find("\n[tool.mypy]");
    let end = end.ok_or("guest/python/pyproject.toml: no `[tool.mypy]` behind the package")?;
    files.push(("pyproject.toml".to_owned(), manifest[..end].to_owned()));
    sources(&folder.join("src"), "src", &[".py", ".wit", "/py.typed"], &mut files)?;
    files.sort();
    Ok(files)
}

/// The files of the copy for Rust, by their paths below the folder of `pointwork-guest`.
fn pack(root: &Path) -> Result<Vec<(String, String)>> {
    let workspace: Table = read(&root.join("Cargo.toml"))?.parse()?;
    let mut files = about(root, "rust")?;
    files.push(("rustfmt.toml".to_owned(), RUSTFMT.to_owned()));
    for package in PACKAGES {
        let folder = format!("guest/rust/{package}");
        let mut manifest =
            manifest(root, &folder, &workspace).map_err(|error| format!("{folder}Cargo.toml: {error}"))?;
        if package.is_empty() {
            // The project excludes it from its own workspace, and it is of no workspace around the project either.
            manifest.push_str("\n[workspace]\n");
        }
        files.push((format!("{package}Cargo.toml"), manifest));
        sources(
            &root.join(&folder).join("src"),
            &format!("{package}src"),
            &[".rs"],
            &mut files,
        )?;
        let lib = format!("{package}src/lib.rs");
        let lib = files.iter_mut().find(|(path, _)| *path == lib);
        lib.ok_or("a package without a `lib.rs`")?.1.insert_str(0, ALLOW);
    }
    files.sort();
    Ok(files)
}

fn sources(folder: &Path, name: &str, ends: &[&str], files: &mut Vec<(String, String)>) -> Result<()> {
    // Cargo looks at the files below it as well.
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().display());
        // The folder of the contract is a symbolic link in the checkout.
        if entry.path().is_dir() {
            sources(&entry.path(), &name, ends, files)?;
        } else if ends.iter().any(|end| name.ends_with(end)) {
            files.push((name, read(&entry.path())?));
        }
    }
    Ok(())
}

/// The manifest of a package without what only the workspace has: inherited values, lints and tests.
fn manifest(root: &Path, folder: &str, workspace: &Table) -> Result<String> {
    let mut manifest: Table = read(&root.join(folder).join("Cargo.toml"))?.parse()?;
    for key in ["lints", "dev-dependencies", "test"] {
        manifest.remove(key);
    }
    let inherited = |table: &str| -> Result<&Table> {
        let table = workspace
            .get("workspace")
            .and_then(|workspace| workspace.get(table)?.as_table());
        Ok(table.ok_or("the workspace lacks the table")?)
    };
    let package = manifest
        .get_mut("package")
        .and_then(Value::as_table_mut)
        .ok_or("no [package]")?;
    // The file is not in the folder.
    package.remove("readme");
    for (key, value) in package.iter_mut() {
        if value.get("workspace").is_some() {
            *value = inherited("package")?
                .get(key)
                .ok_or("an inherited value is missing")?
                .clone();
        }
    }
    package.insert("publish".to_owned(), false.into());
    if let Some(dependencies) = manifest.get_mut("dependencies").and_then(Value::as_table_mut) {
        for (name, value) in dependencies.iter_mut() {
            let Some(own) = value.as_table().filter(|table| table.contains_key("workspace")) else {
                continue;
            };
            let base = inherited("dependencies")?
                .get(name)
                .ok_or("an inherited dependency is missing")?;
            *value = dependency(folder, base, own)?;
        }
    }
    Ok(toml::to_string(&manifest)?)
}

/// A dependency of the workspace with the features that a package adds.
fn dependency(folder: &str, base: &Value, own: &Table) -> Result<Value> {
    let mut table = match base {
        Value::Table(table) => table.clone(),
        version => Table::from_iter([("version".to_owned(), version.clone())]),
    };
    if let Some(path) = table.get("path").and_then(Value::as_str) {
        let below = path
            .strip_prefix("guest/rust/")
            .ok_or("a path dependency outside the SDK")?;
        let up = if folder == "guest/rust/" { "" } else { "../" };
        table = Table::from_iter([("path".to_owned(), format!("{up}{below}").into())]);
    }
    for (key, value) in own.iter().filter(|(key, _)| *key != "workspace") {
        let all = table.entry(key).or_insert_with(|| Value::Array(Vec::new()));
        match (all, value) {
            (Value::Array(all), Value::Array(more)) => all.extend_from_slice(more),
            (all, value) => *all = value.clone(),
        }
    }
    Ok(Value::Table(table))
}

/// A text, with the line ends that it has on every machine.
fn read(path: &Path) -> Result<String> {
    println!("cargo::rerun-if-changed={}", path.display());
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    Ok(text.replace("\r\n", "\n"))
}

fn env(name: &str) -> Result<String> {
    std::env::var(name).map_err(|error| format!("`{name}`: {error}").into())
}
