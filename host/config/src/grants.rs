//! Resolves the grants of a configuration: reads host variables, finds directories.

use std::env::VarError;
use std::io::ErrorKind;
use std::ops::Range;

use pointwork::{Access, Directory, Grants};
use tempfile::TempDir;
use toml::Spanned;

use crate::error::{Error, ErrorKind as Kind, Result};
use crate::file::{Config, DirectoryGrant, Module, Source, Variable};

/// The treatment of a missing directory that a module may write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// It is created: the module will serve.
    Create,
    /// An empty temporary directory takes its place: the module is only examined.
    StandIn,
}

/// The temporary directories in place of missing ones, see [`Missing::StandIn`]. Dropping them removes them: keep them for as
/// long as the module has instances.
#[derive(Debug)]
pub struct StandIns(#[allow(dead_code, reason = "it is there to be dropped")] Vec<TempDir>);

impl Config {
    /// The grants of one of the [`modules`](Self::modules), with the values of host variables. It blocks.
    ///
    /// # Errors
    ///
    /// A host variable is not set or not UTF-8; a directory is missing, is not a directory, or cannot be created. Each error
    /// names the place in the file.
    pub fn grants(&self, module: &Module, missing: Missing) -> Result<(Grants, StandIns)> {
        resolve(module, &self.source, missing)
    }
}

/// As [`Config::grants`], of a module that was read from `source`.
pub(crate) fn resolve(module: &Module, source: &Source, missing: Missing) -> Result<(Grants, StandIns)> {
    let grant = &module.grant;
    let place = Place { module, source };
    let mut stand_ins = Vec::new();
    let mut grants = Grants::new();
    if grant.clocks {
        grants = grants.clocks();
    }
    if grant.random {
        grants = grants.random();
    }
    if grant.output {
        grants = grants.output();
    }
    if let Some(entries) = &grant.environment {
        let entry = |(name, value): (&Spanned<String>, &Spanned<Variable>)| {
            Ok((name.get_ref().clone(), place.value(value.get_ref())?))
        };
        grants = grants.environment(entries.iter().map(entry).collect::<Result<Vec<_>>>()?);
    }
    if let Some(directories) = &grant.directories {
        let directory = |directory: &DirectoryGrant| {
            let stand_in = place.host(directory, missing)?;
            let host = stand_in
                .as_ref()
                .map_or(directory.host.get_ref().as_path(), TempDir::path);
            let directory = Directory::new(host, directory.guest.get_ref(), directory.access);
            stand_ins.extend(stand_in);
            Ok(directory)
        };
        grants = grants.directories(directories.iter().map(directory).collect::<Result<Vec<_>>>()?);
    }
    let texts = |list: &[Spanned<String>]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    if let Some(sockets) = &grant.sockets {
        grants = grants.sockets(texts(sockets));
    }
    if let Some(hosts) = &grant.http {
        grants = grants.http(texts(hosts));
    }
    Ok((grants, StandIns(stand_ins)))
}

/// The place of a grant, for errors.
struct Place<'a> {
    module: &'a Module,
    source: &'a Source,
}

impl Place<'_> {
    fn value(&self, value: &Variable) -> Result<String> {
        let name = match value {
            Variable::Text(text) => return Ok(text.clone()),
            Variable::Host(name) => name,
        };
        let problem = match std::env::var(name.get_ref()) {
            Ok(value) => return Ok(value),
            Err(VarError::NotUnicode(_)) => "is not UTF-8",
            Err(VarError::NotPresent) => "is not set",
        };
        let variable = format!("the host variable `{name}`");
        Err(self.invalid(&variable, &name.span(), problem).with_hint(format!(
            "set it in the environment of pointwork, or write the value itself instead of {{ from = \"{name}\" }}"
        )))
    }

    /// Ensures that the directory exists. The result takes its place, if it is missing.
    fn host(&self, directory: &DirectoryGrant, missing: Missing) -> Result<Option<TempDir>> {
        let path = directory.host.get_ref();
        let what = format!("the directory `{}`", path.display());
        let invalid = |problem| self.invalid(&what, &directory.host.span(), problem);
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => return Ok(None),
            Ok(_) => return Err(invalid("is not a directory")),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(invalid("cannot be examined").with_source(error)),
        }
        let created = match (directory.access, missing) {
            (Access::ReadOnly, _) => {
                return Err(invalid("does not exist")
                    .with_hint("create it, or grant it with `access = \"read-write\"`: then the server creates it"));
            }
            (Access::ReadWrite, Missing::Create) => std::fs::create_dir_all(path).map(|()| None),
            (Access::ReadWrite, Missing::StandIn) => tempfile::tempdir().map(Some),
        };
        created.map_err(|error| invalid("cannot be created").with_source(error))
    }

    fn invalid(&self, what: &str, span: &Range<usize>, problem: &str) -> Error {
        let (module, place) = (&self.module.name, self.source.place(span));
        let message = format!("{what}, granted to module `{module}` in {place}, {problem}");
        Error::new(Kind::Host, message)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The grants of the module of a configuration in `folder`; the first key is in line 4.
    fn granted(folder: &Path, keys: &str, missing: Missing) -> Result<(Grants, StandIns)> {
        let file = folder.join("pointwork.toml");
        let text = format!("[[module]]\npath = \"store.wasm\"\n[module.grant]\n{keys}");
        let config = Config::parse(&text, &file).expect("a configuration");
        config.grants(&config.modules[0], missing)
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
            .environment(
                [("A", "a"), ("B", "pointwork-config")].map(|(name, value)| (name.to_owned(), value.to_owned())),
            )
            .directories([Directory::new(folder.path().join("."), "/here", Access::ReadOnly)])
            .sockets(["localhost:1".to_owned()])
            .http([]);
        assert_eq!(granted, expected);
    }

    #[test]
    fn writable_directory_is_created_to_serve_but_not_to_examine() {
        let folder = folder();
        let data = folder.path().join("deep/data");
        let keys = "directories = [{ host = \"deep/data\", guest = \"/data\", access = \"read-write\" }]";
        let (grants, stand_ins) = granted(folder.path(), keys, Missing::StandIn).expect("another takes its place");
        assert!(!data.exists(), "an examination changes nothing");
        assert_eq!(grants.describe(), ["directories /data (read-write)"]);
        let stand_in = stand_ins.0[0].path().to_owned();
        assert!(stand_in.is_dir());
        drop(stand_ins);
        assert!(!stand_in.exists(), "nothing is left of it");
        granted(folder.path(), keys, Missing::Create).expect("it is created");
        assert!(data.is_dir());
    }

    #[test]
    fn directory_that_cannot_be_examined_is_named_with_its_place() {
        let folder = folder();
        std::fs::write(folder.path().join("file"), "text").expect("written");
        let keys = "directories = [{ host = \"file/data\", guest = \"/data\", access = \"read-write\" }]";
        let error = granted(folder.path(), keys, Missing::Create).expect_err("a file has no entries");
        assert!(
            error.to_string().ends_with("pointwork.toml:4:25, cannot be examined"),
            "{error}"
        );
        assert_eq!(error.kind(), Kind::Host);
    }
}
