//! Resolves the grants of a configuration: reads host variables, finds directories.

use std::env::VarError;
use std::io::ErrorKind;
use std::path::Path;

use pointwork::{Directory, Grants};
use tempfile::TempDir;

use crate::config::{self, Grant, Module, Position, Variable};
use crate::error::{Error, Result};
use crate::exit::Exit;

/// The treatment of a missing directory that a module may write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is created: the module will serve.
    Create,
    /// An empty temporary directory takes its place: the command only examines the module.
    StandIn,
}

/// Resolves the grants of `module` in the configuration `file`. It blocks. The second result are temporary directories in
/// place of missing ones; dropping them removes them.
///
/// # Errors
///
/// A host variable is not set or not UTF-8; a directory is missing, is not a directory, or cannot be created. Each error
/// names the place in the file.
pub(crate) fn resolve(module: &Module, file: &Path, missing: Missing) -> Result<(Grants, Vec<TempDir>)> {
    let Grant {
        clocks,
        random,
        output,
        environment,
        directories,
        sockets,
        http,
    } = &module.grant;
    let place = Place { module, file };
    let mut stand_ins = Vec::new();
    let mut grants = Grants::new();
    if *clocks {
        grants = grants.clocks();
    }
    if *random {
        grants = grants.random();
    }
    if *output {
        grants = grants.output();
    }
    if let Some(entries) = environment {
        let entry = |(name, value): (&String, &Variable)| Ok((name.clone(), place.value(value)?));
        grants = grants.environment(entries.iter().map(entry).collect::<Result<Vec<_>>>()?);
    }
    if let Some(directories) = directories {
        let directory = |directory: &config::Directory| {
            let access = match directory.access {
                config::Access::ReadOnly => pointwork::Access::ReadOnly,
                config::Access::ReadWrite => pointwork::Access::ReadWrite,
            };
            let host = match place.host(directory, missing)? {
                Some(stand_in) => {
                    let path = stand_in.path().to_owned();
                    stand_ins.push(stand_in);
                    path
                }
                None => directory.host.clone(),
            };
            Ok(Directory::new(host, &directory.guest, access))
        };
        grants = grants.directories(directories.iter().map(directory).collect::<Result<Vec<_>>>()?);
    }
    if let Some(sockets) = sockets {
        grants = grants.sockets(sockets.iter().map(|socket| socket.as_str().to_owned()));
    }
    if let Some(hosts) = http {
        grants = grants.http(hosts.iter().map(|host| host.as_str().to_owned()));
    }
    Ok((grants, stand_ins))
}

/// The place of a grant, for errors.
struct Place<'a> {
    module: &'a Module,
    file: &'a Path,
}

impl Place<'_> {
    fn value(&self, value: &Variable) -> Result<String> {
        let (name, position) = match value {
            Variable::Text(text) => return Ok(text.clone()),
            Variable::Host { name, position } => (name, position),
        };
        let problem = match std::env::var(name) {
            Ok(value) => return Ok(value),
            Err(VarError::NotUnicode(_)) => "is not UTF-8",
            Err(VarError::NotPresent) => "is not set",
        };
        let variable = format!("the host variable `{name}`");
        Err(self.invalid(&variable, *position, problem).with_hint(format!(
            "set it in the environment of pointwork, or write the value itself instead of {{ from = \"{name}\" }}"
        )))
    }

    /// Ensures that the directory exists. The result takes its place, if it is missing.
    fn host(&self, directory: &config::Directory, missing: Missing) -> Result<Option<TempDir>> {
        let path = &directory.host;
        let invalid = |problem| {
            self.invalid(
                &format!("the directory `{}`", path.display()),
                directory.position,
                problem,
            )
        };
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => return Ok(None),
            Ok(_) => return Err(invalid("is not a directory")),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(invalid("cannot be examined").with_source(error)),
        }
        let created = match (directory.access, missing) {
            (config::Access::ReadOnly, _) => {
                return Err(invalid("does not exist")
                    .with_hint("create it, or grant it with `access = \"read-write\"`: then the server creates it"));
            }
            (config::Access::ReadWrite, Missing::Create) => std::fs::create_dir_all(path).map(|()| None),
            (config::Access::ReadWrite, Missing::StandIn) => tempfile::tempdir().map(Some),
        };
        created.map_err(|error| invalid("cannot be created").with_source(error))
    }

    fn invalid(&self, what: &str, position: Position, problem: &str) -> Error {
        let (module, file) = (&self.module.name, self.file.display());
        let message = format!("{what}, granted to module `{module}` in {file}:{position}, {problem}");
        Error::new(Exit::Config, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// The grants of the module of a configuration in `folder`; the first key is in line 4.
    fn granted(folder: &Path, keys: &str, missing: Missing) -> Result<(Grants, Vec<TempDir>)> {
        let file = folder.join("pointwork.toml");
        let text = format!("[[module]]\npath = \"store.wasm\"\n[module.grant]\n{keys}");
        let config = Config::parse(&text, &file).expect("a configuration");
        resolve(&config.modules[0], &config.file, missing)
    }

    fn folder() -> TempDir {
        tempfile::tempdir().expect("a directory")
    }

    #[test]
    fn grants_are_those_of_the_configuration() {
        let folder = folder();
        let keys = "clocks = true\noutput = true\nenvironment = { A = \"a\", B = { from = \"CARGO_PKG_NAME\" } }\n\
            directories = [{ host = \".\", guest = \"/here\" }]\nsockets = [\"localhost:1\"]\nhttp = []";
        let (granted, _) = granted(folder.path(), keys, Missing::Create).expect("all of it exists");
        let expected = Grants::new()
            .clocks()
            .output()
            .environment([("A", "a"), ("B", "pointwork-cli")].map(|(name, value)| (name.to_owned(), value.to_owned())))
            .directories([Directory::new(
                folder.path().join("."),
                "/here",
                pointwork::Access::ReadOnly,
            )])
            .sockets(["localhost:1".to_owned()])
            .http([]);
        assert_eq!(granted, expected);
    }

    #[test]
    fn nothing_is_granted_by_default() {
        let (granted, _) = granted(folder().path(), "", Missing::Create).expect("nothing is needed");
        assert_eq!(granted, Grants::new());
    }

    #[test]
    fn variable_that_is_not_set_is_named_with_its_place() {
        let folder = folder();
        let keys = "environment = { TOKEN = { from = \"POINTWORK_TEST_NEVER_SET\" } }";
        let error = granted(folder.path(), keys, Missing::Create).expect_err("nobody sets it");
        assert_eq!(
            error.to_string(),
            format!(
                "the host variable `POINTWORK_TEST_NEVER_SET`, granted to module `store` in {}:4:34, is not set",
                folder.path().join("pointwork.toml").display()
            )
        );
        assert_eq!(error.exit(), Exit::Config);
    }

    #[test]
    fn writable_directory_is_created_to_serve_but_not_to_examine() {
        let folder = folder();
        let data = folder.path().join("deep/data");
        let keys = "directories = [{ host = \"deep/data\", guest = \"/data\", access = \"read-write\" }]";
        let (grants, stand_ins) = granted(folder.path(), keys, Missing::StandIn).expect("another takes its place");
        assert!(!data.exists(), "an examination changes nothing");
        assert_eq!(grants.describe(), ["directories /data (read-write)"]);
        let stand_in = stand_ins[0].path().to_owned();
        assert!(stand_in.is_dir());
        drop(stand_ins);
        assert!(!stand_in.exists(), "nothing is left of it");
        granted(folder.path(), keys, Missing::Create).expect("it is created");
        assert!(data.is_dir());
    }

    #[test]
    fn directory_that_cannot_be_granted_is_named_with_its_place() {
        let folder = folder();
        std::fs::write(folder.path().join("file"), "text").expect("written");
        for (directory, path, problem) in [
            ("{ host = \"data\", guest = \"/data\" }", "data", "does not exist"),
            ("{ host = \"file\", guest = \"/data\" }", "file", "is not a directory"),
            (
                "{ host = \"file/data\", guest = \"/data\", access = \"read-write\" }",
                "file/data",
                "cannot be examined",
            ),
        ] {
            let keys = format!("directories = [{directory}]");
            let error = granted(folder.path(), &keys, Missing::Create).expect_err(problem);
            assert_eq!(
                error.to_string(),
                format!(
                    "the directory `{}`, granted to module `store` in {}:4:25, {problem}",
                    folder.path().join(path).display(),
                    folder.path().join("pointwork.toml").display()
                )
            );
            assert_eq!(error.exit(), Exit::Config);
        }
    }
}
