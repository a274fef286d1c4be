//! The example of the repository, `examples/products`, as the tests run it.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::server::Server;
use crate::{folder, languages, pointwork, write};

/// Its folder.
pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/products")
}

/// The target directory of its packages; kept between runs.
pub(crate) fn target_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests")
}

/// A configuration of the example. The controllers in Rust are the same component in the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Example {
    /// `pointwork.toml`: the channels are drivers of the host.
    Native,
    /// `components.toml`: the channels are a component.
    Components,
    /// The controllers in TypeScript, with the channels of [`Self::Native`].
    TypeScript,
    /// The controllers in Python, with the channels of [`Self::Native`].
    Python,
}

impl Example {
    /// The name of the file.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Native => "pointwork.toml",
            Self::Components => "components.toml",
            Self::TypeScript => "typescript/pointwork.toml",
            Self::Python => "python/pointwork.toml",
        }
    }

    /// The components of the configuration, with the names of their files.
    pub(crate) fn components(self) -> Vec<(PathBuf, &'static str)> {
        let name = "products.wasm";
        match self {
            Self::Native => vec![(controllers(), name)],
            Self::Components => vec![(controllers(), name), (store(), "products-store.wasm")],
            Self::TypeScript => vec![(languages::typescript(), name)],
            Self::Python => vec![(languages::python(), name)],
        }
    }

    /// A folder with a copy of the configuration, without the components. The data is created there.
    pub(crate) fn configured(self) -> TempDir {
        let folder = folder();
        let mut config = std::fs::read_to_string(directory().join(self.file())).expect("text");
        for package in ["controllers", "store"] {
            let path = directory().join(package).canonicalize().expect("it is there");
            config = config.replace(
                &format!("build = \"{package}\""),
                &format!("build = '{}'", path.display()),
            );
        }
        // A debug build of the command takes its time for the interpreter of Python.
        write(&folder, self.file(), format!("compile.time = \"600s\"\n{config}"));
        std::fs::copy(directory().join("schema.sql"), folder.path().join("schema.sql")).expect("copied");
        folder
    }

    /// The same with the components.
    pub(crate) fn built(self) -> TempDir {
        let folder = self.configured();
        let place = folder.path().join(self.file()).with_file_name("target/pointwork");
        std::fs::create_dir_all(&place).expect("created");
        for (component, name) in self.components() {
            std::fs::copy(component, place.join(name)).expect("copied");
        }
        folder
    }

    /// A server with the configuration in `folder`.
    pub(crate) fn start(self, folder: &TempDir) -> Server {
        Server::start(folder.path(), ["--config", self.file()])
    }
}

/// The component of the controllers, built if it is missing.
pub(crate) fn controllers() -> PathBuf {
    build("controllers", "products.wasm", &[])
}

/// The component of the channels, built if it is missing.
pub(crate) fn store() -> PathBuf {
    build("store", "products-store.wasm", &["--target", "wasm32-wasip2"])
}

/// Runs the tests of a package, or of a workspace, of which one at least has to be there.
pub(crate) fn run_unit_tests(folder: &Path) {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--quiet"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target_dir())
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}{errors}", folder.display());
    let ran = |line: &str| line.starts_with("test result: ok. ") && !line.contains(" 0 passed");
    assert!(text.lines().any(ran), "{}: {text}", folder.display());
}

fn build(package: &str, component: &str, more: &[&str]) -> PathBuf {
    let out = target_dir().join("pointwork");
    let built = pointwork(&directory())
        .args(["build", package, "--target-dir"])
        .arg(target_dir())
        .arg("--out")
        .arg(&out)
        .args(more)
        .output()
        .expect("it runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    out.join(component)
}
