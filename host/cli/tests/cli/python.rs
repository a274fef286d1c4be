//! Projects in Python: `new`, `build`, `dev`, `doctor`.

use std::path::{Path, PathBuf};
use std::process;

use snapbox::cmd::{Command, cargo_bin};

use crate::server::Server;
use crate::{Says, folder, pointwork, refused, run, stderr, write};

/// A new project at a place of its own, without what another run left.
fn project(name: &str, template: &str) -> PathBuf {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let folder = parent.join(name);
    std::fs::create_dir_all(&parent).expect("created");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("removed");
    }
    run(&parent, &format!("new {name} --lang python --template {template}"))
        .assert()
        .success()
        .stderr_eq(format!("note: next: cd {name} && pointwork dev\n"));
    folder
}

/// Replaces a text in a file of a project.
fn change(project: &Path, file: &str, old: &str, new: &str) {
    let text = std::fs::read_to_string(project.join(file)).expect(file);
    assert!(text.contains(old), "`{old}` is not in:\n{text}");
    write(project, file, text.replace(old, new));
}

/// The unit tests of a project, by the Python of an environment.
fn test(project: &Path, environment: &Path) {
    let mut command = process::Command::new(environment.join(".venv/bin/python"));
    command
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .current_dir(project);
    let output = command.output().expect("Python runs");
    let [out, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{out}{errors}");
}

/// The tests of `guest/python`, with the command of this test.
#[cfg(unix)]
#[test]
fn sdk_passes_its_tests() {
    let command = cargo_bin!("pointwork");
    let mut tests = process::Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest/python/test/run"));
    tests.env("POINTWORK", command);
    // A build of the workspace has it; otherwise the tests build it.
    let compose = command.with_file_name("examples").join("compose");
    if compose.exists() {
        tests.env("POINTWORK_COMPOSE", compose);
    }
    let output = tests.output().expect("bash runs it");
    let [out, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{out}{errors}");
}

#[test]
fn project_in_python_is_complete() {
    let shop = project("py-shop", "controller");
    let text = stderr(run(&shop, "build"), 0);
    text.says([
        "note: making .venv with Python 3.",
        "note: installing attrs, cattrs, componentize-py, iniconfig, packaging, pluggy, pointwork-guest, pygments, pytest, \
         typing-extensions in .venv with pip",
    ]);
    assert!(!text.contains("warning"), "{text}");
    let component = std::fs::read(shop.join("target/pointwork/py-shop.wasm")).expect("it is there");
    let inspection = pointwork::inspect(&component).expect("a component");
    inspection.check().expect("it imports the contract alone");
    let sources = std::fs::read_to_string(shop.join("target/pointwork/py-shop.d")).expect("it is there");
    assert!(sources.contains("/py-shop/src/greetings.py"), "{sources}");
    test(&shop, &shop);
    let found = pointwork(&shop).arg("doctor").output().expect("it runs").stdout;
    String::from_utf8(found).expect("text").says([
        "ok       Python 3.",
        "ok       the packages of requirements.txt are installed",
        "ok       pointwork-guest 0.2.0, of the contract of pointwork 0.2.0",
    ]);
    what_cannot_be_built(&shop);

    // The templates of channels, with the same environment.
    let both = project("py-both", "both");
    std::os::unix::fs::symlink(shop.join(".venv"), both.join(".venv")).expect("linked");
    test(&both, &both);
    let several = stderr(run(&both, "build"), 1);
    several.says([
        "has several modules to build: `py-both-db` and `py-both`",
        "as in `pointwork build -p py-both-db`",
    ]);
    run(&both, "build src/channels")
        .assert()
        .success()
        .stdout_eq("built target/pointwork/py-both-db.wasm ([..]): synchronous\n")
        .stderr_eq("");
    let channel = project("py-channel", "channel");
    std::os::unix::fs::symlink(shop.join(".venv"), channel.join(".venv")).expect("linked");
    test(&channel, &channel);
    develop(&shop);
}

/// Mistakes, each with its place. None of them takes a build.
fn what_cannot_be_built(shop: &Path) {
    let app = std::fs::read_to_string(shop.join("src/app.py")).expect("it is there");
    let build = |code: &str| {
        write(shop, "src/app.py", code);
        stderr(run(shop, "build"), 1)
    };
    build("def f(:\n").says([
        "error: src/app.py:1: SyntaxError: ",
        "error: module `py-shop` could not be built",
    ]);
    build(&format!("import componentize_py\n{app}")).says([
        "error: src/app.py:1: `componentize_py` needs `componentize_py",
        "which is an extension in C or Rust that a component cannot have",
    ]);
    build("import nothing_of_that_name\n").says(["error: src/app.py:1: No module named 'nothing_of_that_name'"]);
    build("shop = 1\n").says(["the file has no `app`, expected `app = Module(controllers=[Products])`"]);
    write(shop, "src/app.py", app);
}

/// What `pointwork dev` does with a project.
fn develop(shop: &Path) {
    // A debug build of the command takes its time.
    change(shop, "pointwork.toml", "listen =", "compile.time = \"600s\"\nlisten =");
    let server = Server::develop(shop, &shop.join("target"));
    let greeting = || server.get("/greetings/Ada").json()["text"].to_string();
    assert_eq!(greeting(), "\"Hello, Ada!\"");
    assert_eq!(server.send("POST", "/greetings", Some(r#"{"name": " "}"#)).status, 422);
    change(shop, "src/greetings.py", "Hello, {name}", "Good morning, {name}");
    server.until(|| greeting() == "\"Good morning, Ada!\"");
    server.logged("after src/greetings.py changed");

    // A mistake is told with its place.
    change(shop, "src/greetings.py", "@get()\n", "@get(\n");
    server.logged("src/greetings.py:31: SyntaxError: ");
    server.logged("the version before of module `py-shop` serves on");
    assert_eq!(greeting(), "\"Good morning, Ada!\"");
    change(shop, "src/greetings.py", "@get(\n", "@get()\n");
    change(
        shop,
        "src/greetings.py",
        "        return \"Say",
        "        if sched.scheduler:\n            raise LookupError(\"too short\")\n        return \"Say",
    );
    // What the component without the program has not imported.
    change(
        shop,
        "src/greetings.py",
        "from dataclasses",
        "import sched\nfrom dataclasses",
    );
    server.until(|| server.get("/greetings").status == 500);
    // So is a crash, and where the source has it.
    let body = server.get("/greetings").json();
    let crash = body["crashes"][0]["message"].to_string();
    assert!(crash.contains("LookupError: too short"), "{body}");
    assert!(crash.contains("src/greetings.py:36"), "{body}");

    // A new file.
    write(shop, "src/words.py", "WORD = 'Good evening'\n");
    change(shop, "src/greetings.py", "Good morning, {name}", "{WORD}, {name}");
    change(
        shop,
        "src/greetings.py",
        "from events",
        "from words import WORD\nfrom events",
    );
    server.until(|| greeting() == "\"Good evening, Ada!\"");
    change(shop, "src/words.py", "Good evening", "Good night");
    server.until(|| greeting() == "\"Good night, Ada!\"");
    assert_eq!(server.stop("TERM").code, Some(0));
}

#[test]
fn folder_that_is_no_project_is_told_what_it_lacks() {
    let folder = folder();
    write(&folder, "pyproject.toml", "[project]\nname = \"shop\"\n");
    refused(run(&folder, "build"), 1).stderr_eq(snapbox::str![[r#"
error: `pyproject.toml` names no file of a module
hint: the file whose `app` is the module is named there:

      [tool.pointwork]
      module = "src/app.py"

"#]]);
    write(&folder, "pyproject.toml", "[tool.pointwork]\nmodul = 7\n");
    stderr(run(&folder, "build"), 1).says(["is not the manifest of a project", "unknown field `modul`"]);
    write(&folder, "pyproject.toml", "[tool.pointwork]\nmodule = \"shop.py\"\n");
    stderr(run(&folder, "build"), 1).says(["there is no file `shop.py`, which `pyproject.toml` names"]);
    write(&folder, "shop.py", "");
    stderr(run(&folder, "build"), 1).says(["requirements.txt", "hint: it names the packages of the module"]);
    stderr(run(&folder, "build --profile dev"), 2).says(["`--profile`: only for cargo, and `pyproject.toml` is no"]);
    stderr(run(&folder, "new shop --lang python --template host"), 2)
        .says(["the template `host` is a program in Rust"]);
}

/// A script in place of a tool, in a folder that is all of PATH.
fn without_tools(command: Command, tools: &Path, scripts: &[(&str, &str)]) -> Command {
    use std::os::unix::fs::PermissionsExt;
    for (tool, script) in scripts {
        write(tools, tool, format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(tools.join(tool), PermissionsExt::from_mode(0o755)).expect("changed");
    }
    command.env("PATH", tools)
}

#[test]
fn missing_python_is_named_with_the_way_to_get_it() {
    let folder = folder();
    run(&folder, "new shop --lang python").assert().success();
    let (shop, tools) = (folder.path().join("shop"), folder.path().join("tools"));
    std::fs::create_dir(&tools).expect("created");
    let build = |scripts: &[(&str, &str)]| stderr(without_tools(run(&shop, "build"), &tools, scripts), 4);
    let hint = "hint: install Python 3.11 or later from https://www.python.org, with `venv`";
    build(&[]).says(["error: cannot run `python3`, which builds modules in Python", hint]);
    build(&[("python3", "echo Python 3.9.6")]).says([
        "error: Python 3.11 or later builds modules in Python: this is Python 3.9.6",
        hint,
    ]);
    let doctor = without_tools(run(&shop, "doctor"), &tools, &[]).env_remove("CARGO");
    let found = doctor.output().expect("it runs").stdout;
    String::from_utf8(found).expect("text").says([
        "missing  Python 3.11 or later builds modules in Python",
        "install Python 3.11",
    ]);
    // As on a system that has no `venv`.
    let without_venv = "test \"$1\" = --version && echo Python 3.12.1";
    build(&[("python3.12", without_venv)]).says([
        "note: making .venv with Python 3.12.1",
        "error: `python3.12 -m venv` could not make `.venv`",
        hint,
    ]);
    // As without a network.
    let venv = "case \"$1\" in --version) echo Python 3.12.1;; *) /bin/mkdir -p .venv/bin; echo '#!/bin/sh\nexit 1' \
                > .venv/bin/python; /bin/chmod +x .venv/bin/python;; esac";
    build(&[("python3.12", venv)]).says([
        "error: pip could not install attrs, cattrs, componentize-py,",
        "`pip install -r requirements.txt` ended with exit status: 1",
        "hint: with a network: (cd ",
        "/shop && .venv/bin/python -m pip install -r requirements.txt)",
        "--no-index --find-links FOLDER -r requirements.txt)",
    ]);
}
