//! `pointwork new`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process;

use serde_json::json;
use snapbox::cmd::{Command, cargo_bin};
use snapbox::str;

use crate::server::Server;
use crate::{Says, example, folder, pointwork, project, refused, run, sdk, stderr, write};

/// The texts below a folder, by path.
fn texts(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut texts = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(&path).expect("text");
                texts.insert(path.strip_prefix(folder).expect("below it").to_owned(), text);
            }
        }
    }
    texts
}

#[test]
fn project_has_all_its_files_and_names() {
    let all = ["rust", "ts", "js"].map(|lang| ["controller", "channel", "both"].map(|template| (lang, template)));
    for (lang, template) in all.into_iter().flatten() {
        let folder = folder();
        pointwork(&folder)
            .args(["new", "my-shop", "--lang", lang, "--template", template])
            .assert()
            .success()
            .stdout_eq("created my-shop\n")
            .stderr_eq("note: next: cd my-shop && pointwork dev\n");
        let texts = texts(&folder.path().join("my-shop"));
        for (path, text) in &texts {
            let place = text
                .split('@')
                .skip(1)
                .step_by(2)
                .find(|word| word.to_uppercase() == **word);
            assert!(
                path.starts_with("vendor") || place.is_none(),
                "{}: @{place:?}@",
                path.display()
            );
        }
        assert!(texts[Path::new("README.md")].contains("vendor/pointwork-guest"));
        assert!(texts[Path::new("pointwork.toml")].contains("name = \"my-shop\""));
    }
}

/// The files that a build needs, unchanged but for the line against lints of later compilers.
#[test]
fn copy_of_the_sdk_is_that_of_the_checkout() {
    let folder = folder();
    run(&folder, "new shop").assert().success();
    let mut copy = texts(&folder.path().join("shop/vendor/pointwork-guest"));
    for package in ["", "macros", "events", "patterns"] {
        for (path, text) in texts(&sdk().join(package).join("src")) {
            let path = Path::new(package).join("src").join(path);
            let copied = copy
                .remove(&path)
                .unwrap_or_else(|| panic!("{} is missing", path.display()));
            let copied = match copied.split_once('\n') {
                Some((first, rest)) if path.ends_with("lib.rs") && first.starts_with("#![allow(warnings)]") => rest,
                _ => &copied,
            };
            assert!(copied == text, "{} differs", path.display());
        }
        let manifest = copy
            .remove(&Path::new(package).join("Cargo.toml"))
            .expect("it has a manifest");
        for word in ["workspace = ", "lints", "dev-dependencies"] {
            assert!(!manifest.contains(word), "{word} in:\n{manifest}");
        }
    }
    let rest: Vec<_> = copy.keys().map(|path| path.display().to_string()).collect();
    assert_eq!(rest, ["LICENSE", "README.md", "rustfmt.toml"]);
    let version = format!("# pointwork-guest {}\n", env!("CARGO_PKG_VERSION"));
    assert!(copy[Path::new("README.md")].starts_with(&version));
}

/// Its manifest is without what only the tests of the SDK need.
#[test]
fn copy_of_the_sdk_for_typescript_is_that_of_the_checkout() {
    let folder = folder();
    run(&folder, "new shop --lang ts").assert().success();
    let mut copy = texts(&folder.path().join("shop/vendor/pointwork-guest"));
    let sdk = sdk().join("../../guest/js");
    for part in ["src", "wasi", "wit"] {
        for (path, text) in texts(&sdk.join(part)) {
            assert!(
                copy.remove(&Path::new(part).join(&path)) == Some(text),
                "{part}/{}",
                path.display()
            );
        }
    }
    let manifest = copy.remove(Path::new("package.json")).expect("it has a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(
        (&manifest["name"], &manifest["devDependencies"]),
        (&json!("@pointwork/guest"), &json!(null))
    );
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let rest: Vec<_> = copy.keys().map(|path| path.display().to_string()).collect();
    assert_eq!(rest, [".gitignore", "LICENSE", "README.md", "tsconfig.json"]);
}

/// A project at a place that is kept between runs, and so are the products of its builds.
struct Project {
    folder: PathBuf,
}

impl Project {
    fn new(name: &str, template: &str) -> Self {
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new");
        std::fs::create_dir_all(&parent).expect("created");
        // The style of the repository around it is not that of a user.
        std::fs::write(parent.join("rustfmt.toml"), "").expect("written");
        let folder = parent.join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).expect("removed");
        }
        pointwork(&parent)
            .args(["new", name, "--template", template])
            .assert()
            .success();
        Self { folder }
    }

    /// Runs a command that succeeds without a warning.
    fn run(&self, mut command: process::Command, arguments: &str) {
        let output = command
            .args(arguments.split(' '))
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", example::target_dir())
            .env("CARGO_TERM_COLOR", "never")
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {text}");
        assert!(!text.contains("warning"), "{arguments}: {text}");
    }

    /// Everything that a user does first.
    fn check(&self, builds: &[&str]) {
        let cargo = || process::Command::new(env!("CARGO"));
        self.run(cargo(), "fmt --all --check");
        self.run(cargo(), "build");
        self.run(cargo(), "test");
        self.run(cargo(), "clippy --all-targets -- -D warnings");
        for build in builds {
            self.run(process::Command::new(cargo_bin!("pointwork")), build);
        }
    }
}

/// Handlers that the limits `cpu` and `memory` end.
const ENDLESS: &str = r#"
    #[get("loop")]
    fn turn() -> String {
        let mut turns = 0_u64;
        while std::hint::black_box(true) {
            turns += 1;
        }
        turns.to_string()
    }

    #[get("hog")]
    fn hog() -> String {
        let mut kept = Vec::new();
        while std::hint::black_box(true) {
            kept.push(vec![1_u8; 65_536]);
        }
        kept.len().to_string()
    }
"#;

/// The log has a line of the source of a handler, in the backtrace of a call that a limit ended.
fn tells_the_line(server: &Server, source: &str, handler: &str) {
    let line_of = |text: &str| {
        source
            .lines()
            .position(|line| line.contains(text))
            .expect("it is there")
    };
    let first = line_of(&format!("fn {handler}()"));
    let lines = (first + 1)..(first + 7);
    server.until(|| {
        let log = server.log();
        lines.clone().any(|line| log.contains(&format!("src/lib.rs:{line}:")))
    });
}

#[test]
fn project_with_a_controller_is_complete() {
    let project = Project::new("fresh-controller", "controller");
    let controllers = project.folder.join("src/lib.rs");
    let text = std::fs::read_to_string(&controllers).expect("text");
    let show = "\n    /// `GET /greetings/:name`\n";
    let source = text.replace(show, &format!("{ENDLESS}{show}"));
    std::fs::write(&controllers, &source).expect("written");
    let limits = "[limits]\ncpu = \"200ms\"\n\n";
    let settings = std::fs::read_to_string(project.folder.join("pointwork.toml")).expect("text");
    let settings = settings.replacen("[[module]]", &format!("{limits}[[module]]"), 1);
    write(&project.folder, "pointwork.toml", settings);
    // A lint that only a later compiler has.
    let lib = project.folder.join("vendor/pointwork-guest/src/lib.rs");
    let text = std::fs::read_to_string(&lib).expect("text");
    std::fs::write(&lib, format!("{text}\nfn unused() {{}}\n")).expect("written");
    project.check(&["build"]);

    let server = Server::start(&project.folder, [""; 0]);
    let greeted = server.get("/greetings/Ada").json();
    assert_eq!(greeted, json!({"text": "Hello, Ada!", "visits": 0}));
    server.until(|| server.get("/greetings/Ada").json()["visits"] != 0);
    assert_eq!(server.send("POST", "/greetings", Some(r#"{"name": " "}"#)).status, 422);
    for (path, status, handler) in [("/greetings/loop", 504, "turn"), ("/greetings/hog", 500, "hog")] {
        assert_eq!(server.get(path).status, status);
        tells_the_line(&server, &source, handler);
    }
}

#[test]
fn project_with_a_channel_is_complete() {
    let project = Project::new("fresh-channel", "channel");
    project.check(&["build --target wasm32-wasip2"]);
    // The grants are enough.
    let server = Server::start(&project.folder, [""; 0]);
    assert!(server.banner.contains("visits:of"), "{}", server.banner);
}

#[test]
fn project_with_both_is_complete() {
    let project = Project::new("fresh-both", "both");
    project.check(&["build controllers", "build channels --target wasm32-wasip2"]);
    let server = Server::start(&project.folder, [""; 0]);
    let greeted = server.get("/greetings/Ada").json();
    assert_eq!(greeted, json!({"text": "Hello, Ada!", "visits": 0}));
    server.until(|| server.get("/greetings/Ada").json()["visits"] != 0);
}

/// `.ci/package` compiles it.
#[test]
fn project_with_a_host_names_the_crates_of_the_checkout() {
    let folder = folder();
    run(&folder, "new shop --template host --sdk-path")
        .arg(sdk())
        .assert()
        .success();
    let manifest = std::fs::read_to_string(folder.path().join("shop/Cargo.toml")).expect("written");
    let root = sdk().join("../..").canonicalize().expect("the checkout");
    for (name, path) in [("pointwork", "host/runtime"), ("pointwork-axum", "adapters/axum")] {
        let line = format!("{name} = {{ path = \"{}\" }}", root.join(path).display());
        assert!(manifest.contains(&line), "{manifest}");
    }
    assert!(!folder.path().join("shop/vendor").exists());
}

#[test]
fn host_needs_a_checkout() {
    let folder = folder();
    refused(run(&folder, "new shop --template host"), 1).stderr_eq(str![[r#"
error: the template `host` needs `--sdk-path`, the folder `guest/rust` in a clone of Pointwork
hint: until there is a release, the project uses the crates of a clone:
      git clone https://github.com/pointwork/pointwork
      pointwork new NAME --template host --sdk-path pointwork/guest/rust

"#]]);
    run(&folder, "new other").assert().success();
    let of_a_copy = "new shop --template host --sdk-path other/vendor/pointwork-guest";
    stderr(run(&folder, of_a_copy), 1).says(["is not in a checkout of Pointwork"]);
    assert!(!folder.path().join("shop").exists());
}

#[test]
fn copy_of_the_sdk_is_replaced_as_a_whole() {
    let folder = folder();
    run(&folder, "new shop").assert().success();
    let shop = folder.path().join("shop");
    let before = texts(&shop);
    let manifest = std::fs::read_to_string(shop.join("vendor/pointwork-guest/Cargo.toml")).expect("text");
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(manifest.contains(&version), "{manifest}");
    let older = manifest.replace(&version, "version = \"0.1.0\"");
    write(&shop, "vendor/pointwork-guest/Cargo.toml", older);
    write(&shop, "vendor/pointwork-guest/src/old.rs", "");
    run(&folder, "vendor shop")
        .assert()
        .success()
        .stdout_eq("vendored pointwork-guest [..] in shop/vendor/pointwork-guest\n")
        .stderr_eq("note: the copy before was 0.1.0\n");
    assert!(texts(&shop) == before, "more or less than before");
}

#[test]
fn project_without_a_copy_gets_one_and_the_lines_for_it() {
    let folder = folder();
    run(&project(&folder, "shop"), "vendor")
        .assert()
        .success()
        .stdout_eq("vendored pointwork-guest [..] in ./vendor/pointwork-guest\n")
        .stderr_eq(str![[r#"
note: the manifest of the project needs these lines:

      [workspace]
      exclude = ["vendor"]

      [dependencies]
      pointwork-guest = { path = "vendor/pointwork-guest" }

"#]]);
    assert!(folder.path().join("shop/vendor/pointwork-guest/src/lib.rs").is_file());
}

#[test]
fn copy_takes_the_place_of_nothing_else() {
    let folder = folder();
    refused(run(&folder, "vendor"), 1).stderr_eq(str![[r#"
error: `.` is not a project: expected a `Cargo.toml`, `package.json` or `pyproject.toml` there
hint: name the project's directory, or create a project with `pointwork new NAME`

"#]]);
    write(&folder, "Cargo.toml", "[workspace]\n");
    write(&folder, "vendor/pointwork-guest/notes.txt", "mine");
    refused(run(&folder, "vendor"), 1).stderr_eq(str![[r#"
error: `./vendor/pointwork-guest` is not the package `pointwork-guest`
hint: it would be replaced; move it elsewhere first

"#]]);
}

#[test]
fn sdk_path_becomes_a_path_dependency() {
    let folder = folder();
    let manifest = std::fs::read_to_string(project(&folder, "shop").join("Cargo.toml")).expect("written");
    let line = format!("pointwork-guest = {{ path = \"{}\" }}", sdk().display());
    assert!(manifest.contains(&line), "{manifest}");
}

#[test]
fn empty_variable_for_the_sdk_counts_as_unset() {
    let folder = folder();
    run(&folder, "new shop")
        .env("POINTWORK_SDK_PATH", "")
        .assert()
        .success();
    assert!(folder.path().join("shop/vendor/pointwork-guest/Cargo.toml").is_file());
}

#[test]
fn sdk_path_to_something_else_is_refused() {
    let folder = folder();
    refused(run(&folder, "new shop --sdk-path ."), 1).stderr_eq(str![[r#"
error: `.` is not the package `pointwork-guest`
hint: name the folder `guest/rust` of a checkout of Pointwork

"#]]);
    assert!(!folder.path().join("shop").exists());
}

#[test]
fn directory_with_something_in_it_is_refused() {
    let folder = folder();
    write(&folder, "shop/notes.txt", "mine");
    refused(run(&folder, "new shop"), 1).stderr_eq(str![[r#"
error: `shop` is not empty
hint: choose another directory with `--path DIR`

"#]]);
    assert_eq!(std::fs::read_dir(folder.path().join("shop")).expect("there").count(), 1);
}

#[test]
fn file_in_the_way_is_named() {
    let folder = folder();
    write(&folder, "notes", "mine");
    for arguments in ["new notes", "new shop --path notes/shop"] {
        refused(run(&folder, arguments), 1).stderr_eq(str![[r#"
error: `notes` is a file
hint: choose another directory with `--path DIR`

"#]]);
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1);
}

#[test]
fn first_build_without_a_network_says_what_it_needs() {
    let folder = folder();
    let offline = |command: Command| {
        command
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_HOME", folder.path().join("empty"))
    };
    offline(pointwork(&folder)).args(["new", "shop"]).assert().success();
    stderr(offline(pointwork(&folder.path().join("shop"))).arg("build"), 1).says([
        "error: cargo could not build package `shop`",
        "hint: cargo did not find every dependency; the first build needs a network",
    ]);
}

/// `/proc` takes no file, not even from the administrator.
#[cfg(target_os = "linux")]
#[test]
fn directory_that_cannot_be_written_is_named() {
    refused(run(&folder(), "new shop --path /proc/shop"), 1)
        .stderr_eq("error: cannot write `/proc/shop`\n  caused by: [..]\n...\n");
}

#[test]
fn member_of_a_workspace_around_it_is_refused_with_the_line_to_add() {
    let folder = folder();
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"services/*\"]\n".to_owned();
    write(&folder, "Cargo.toml", &workspace);
    refused(run(&folder, "new shop --path services/shop"), 1).stderr_eq(str![[r#"
error: `services/shop` would be a member of the workspace `[..]Cargo.toml`
  caused by: a project is a workspace of its own
hint: choose another directory with `--path DIR`, or exclude this one in the workspace:

      [workspace]
      exclude = ["services/shop"]

"#]]);
    assert!(!folder.path().join("services").exists());

    write(&folder, "Cargo.toml", workspace + "exclude = [\"services/shop\"]\n");
    for place in ["services/shop", "tools/shop"] {
        run(&folder, &format!("new shop --path {place}")).assert().success();
    }
    let surrounding = Command::new(env!("CARGO")).current_dir(&folder);
    let surrounding = surrounding.args(["metadata", "--no-deps", "--format-version", "1"]);
    surrounding.assert().success();
}

#[test]
fn empty_directory_and_directory_elsewhere_are_taken() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("shop")).expect("created");
    run(&folder, "new shop").assert().success();
    run(&folder, "new shop --path services/shop-2").assert().success();
    assert!(folder.path().join("services/shop-2/src/lib.rs").is_file());
    let names = std::fs::read_dir(folder.path()).expect("there");
    let mut names: Vec<_> = names.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    assert_eq!(names, ["services", "shop"], "nothing else is left");
}

#[test]
fn invalid_name_is_refused_with_another() {
    let folder = folder();
    refused(pointwork(&folder).args(["new", "My Shop"]), 2).stderr_eq(str![[r#"
error: `My Shop` cannot be the name of a project: it contains ` `; expected ASCII letters, digits, `-` and `_`
hint: try `pointwork new my-shop`

"#]]);
    stderr(run(&folder, "new match"), 2).says(["keyword of Rust", "pointwork new match-api"]);
}

#[test]
fn directory_in_the_next_step_is_quoted_for_a_shell() {
    let folder = folder();
    let next = |directory: &str| {
        let path = format!("--path={directory}");
        let text = stderr(pointwork(&folder).args(["new", "shop", &path]), 0);
        text.strip_prefix("note: next: cd ")
            .and_then(|text| text.strip_suffix(" && pointwork dev\n"))
            .unwrap_or_else(|| panic!("{text}"))
            .to_owned()
    };
    for directory in ["a b", "it's $HOME", "-shop"] {
        // The words that a shell reads.
        let script = format!("cd {} && pwd -P", next(directory));
        let expected = folder.path().canonicalize().expect("it exists").join(directory);
        let shell = Command::new("sh").args(["-c", &script]).current_dir(&folder);
        shell.assert().success().stdout_eq(format!("{}\n", expected.display()));
    }
}
