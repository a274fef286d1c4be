//! A folder in which a document is followed, and the server that its commands started.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use pointwork_test_clock::real::{until_blocking, until_built};
use snapbox::cmd::cargo_bin;
use snapbox::report::Palette;
use snapbox::{Assert, IntoData as _};

use crate::markdown;
use crate::root;

/// The address in the documents. A server gets a free port instead.
const ADDRESS: &str = "127.0.0.1:8080";

/// The beginnings of commands that go on until they are ended.
const SERVERS: &[&str] = &["pointwork serve", "pointwork dev", "cargo run"];

/// Commands that stand for others, since the test has the program already.
const STANDS_FOR: &[(&str, &str)] = &[("cargo run --release -p pointwork-cli --", "pointwork")];

/// The examples that keep data in their folders. A session has copies of them.
const SERVED: &[&str] = &["examples/booking", "examples/products"];

/// The folder of the user who follows a document, and the server in the other terminal.
pub(crate) struct Session {
    folder: PathBuf,
    /// The folder of the next command.
    here: PathBuf,
    server: Option<Server>,
    /// The program of the repository that the document showed last, if it is one.
    program: Option<String>,
    /// Where its commands build.
    target: PathBuf,
    /// Keep another run of the test out of the folder, and other documents out of a shared folder of `target`.
    _locks: (File, Option<File>),
}

struct Server {
    child: Child,
    /// Where its output goes.
    output: PathBuf,
    /// The length of the output that was compared.
    compared: usize,
    address: String,
}

impl Session {
    /// A new folder with a clone, outside of the repository, as that of a user. It has the same path at each run, so that
    /// cargo builds only what changed.
    pub(crate) fn new(page: &str, begins: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_TARGET_TMPDIR").hash(&mut hasher);
        let name = format!("pointwork-snippets-{:x}", hasher.finish());
        let folder = std::env::temp_dir().join(name).join(page.replace(['/', '.'], "-"));
        let _ = fs::create_dir_all(&folder);
        let lock = File::create(folder.with_extension("lock")).expect("created");
        lock.lock().expect("the test of another run ends");
        let _ = fs::remove_dir_all(&folder);
        let clone = folder.join("pointwork");
        fs::create_dir_all(clone.join("examples")).expect("created");
        let entries = |path: &str| {
            fs::read_dir(root().join(path))
                .expect("readable")
                .map(|entry| entry.expect("readable").path())
        };
        for path in entries("").chain(entries("examples")) {
            let name = path.strip_prefix(root()).expect("below the root");
            let is_own = ["examples", "target"]
                .iter()
                .chain(SERVED)
                .any(|own| name == Path::new(own));
            if !is_own && !name.to_string_lossy().starts_with('.') {
                symlink(&path, clone.join(name)).expect("linked");
            }
        }
        for example in SERVED {
            copy(&root().join(example), &clone.join(example));
        }
        fs::write(folder.join(".curlrc"), "silent\nshow-error\n").expect("written");
        let (target, target_lock) = target_of(page);
        Self {
            here: folder.join(begins),
            folder,
            server: None,
            program: None,
            target,
            _locks: (lock, target_lock),
        }
    }

    /// Runs a command, and compares its output if the document shows one.
    pub(crate) fn run(&mut self, command: &markdown::Command) -> Result<(), String> {
        let text = STANDS_FOR.iter().fold(command.text.clone(), |text, (documented, run)| {
            text.replace(documented, run)
        });
        let (text, expected) = (text.trim_end_matches('&').trim_end(), command.output.as_deref());
        if SERVERS.iter().any(|server| text.starts_with(server)) {
            self.serve(text)?;
            // In the background, its output is beside the point.
            let is_shown = !command.text.ends_with('&') || expected.is_some_and(|expected| !expected.is_empty());
            return expected
                .filter(|_| is_shown)
                .map_or(Ok(()), |expected| self.prints(expected));
        }
        // A request that changes nothing is sent until the expected reply comes: something else may still be on its way.
        let is_repeatable =
            text.starts_with("curl") && ![" -d", " -X", " --json"].iter().any(|flag| text.contains(flag));
        let mut compared = Ok(());
        let mut run = || {
            let printed = match self.run_once(text) {
                Ok(printed) => printed,
                Err(failed) => return Some(Err(failed)),
            };
            compared = expected.map_or(Ok(()), |expected| compare(&printed, expected));
            (compared.is_ok() || !is_repeatable).then(|| compared.clone())
        };
        until_built("the output is the expected one", &mut run).unwrap_or(compared)
    }

    /// Runs a command to its end, which has to be a success. The result is its output.
    fn run_once(&mut self, text: &str) -> Result<String, String> {
        let address = self.server.as_ref().map_or(ADDRESS, |server| &server.address);
        let (output, here) = (self.folder.join(".output"), self.folder.join(".here"));
        let script = format!(
            "{}\nprintf %s \"$PWD\" >'{}'",
            text.replace(ADDRESS, address),
            here.display()
        );
        let status = self.shell(&script, &output).status().expect("bash runs");
        let printed = self.output(&output);
        if !status.success() {
            return Err(format!("{status}:\n{printed}{}", self.server_output()));
        }
        self.here = fs::read_to_string(here).expect("a path").into();
        Ok(printed)
    }

    /// A script in the current folder, with its output in a file.
    fn shell(&self, script: &str, output: &Path) -> Command {
        let program = cargo_bin!("pointwork");
        let path = std::env::var("PATH").unwrap_or_default();
        let file = File::create(output).expect("created");
        let mut command = Command::new("bash");
        for variable in [
            "RUST_LOG",
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "POINTWORK_SDK_PATH",
            "RUSTC",
        ] {
            command.env_remove(variable);
        }
        command
            .args(["-euo", "pipefail", "-c", script])
            .current_dir(&self.here)
            .env(
                "PATH",
                format!("{}:{path}", program.parent().expect("a folder").display()),
            )
            .env("CARGO_TARGET_DIR", &self.target)
            .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .env("CURL_HOME", &self.folder)
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a second handle"))
            .stderr(file);
        command
    }

    /// Starts a server on a free port, in place of the one before: they have the same address in the document.
    fn serve(&mut self, command: &str) -> Result<(), String> {
        self.server = None;
        self.allow_slow_compilation();
        let mut command = match &self.program {
            Some(program) if command == "cargo run" => program_of_the_examples(program)?,
            _ => command.to_owned(),
        };
        if command.contains(ADDRESS) {
            command = command.replace(ADDRESS, "127.0.0.1:0");
        } else if command.starts_with("pointwork") {
            command.push_str(" --listen 127.0.0.1:0");
        }
        let output = self.folder.join(".server");
        let mut command = self.shell(&format!("exec {command}"), &output);
        let child = command.process_group(0).spawn().expect("bash runs");
        let server = self.server.insert(Server {
            child,
            output,
            compared: 0,
            address: String::new(),
        });
        let listens = until_built("the server listens", || {
            let ended = server.child.try_wait().expect("it is ours");
            let text = server.text();
            // A line that is complete.
            let (_, rest) = text.split_once("listening on http://").unwrap_or_default();
            let address = rest.split_once('\n').map(|(address, _)| Ok(address.to_owned()));
            address.or_else(|| Some(Err(format!("it ended, {}:\n{text}", ended?))))
        });
        server.address = listens.unwrap_or_else(|error| Err(format!("{error}:\n{}", server.text())))?;
        Ok(())
    }

    /// Waits until the new output of the server is the expected one, without the lines of its log: a thread of its own
    /// writes these, before or behind the others.
    pub(crate) fn prints(&mut self, expected: &str) -> Result<(), String> {
        let server = self.server.as_mut().ok_or("no server runs")?;
        let mut compared = Ok(());
        let mut look = || {
            let has_ended = server.child.try_wait().expect("it is ours").is_some();
            let all = server.text();
            let new = all[server.compared..].replace(&server.address, ADDRESS);
            let printed = new.split_inclusive('\n').filter(|line| !is_log_line(line));
            compared = compare(&printed.collect::<String>(), expected);
            if compared.is_ok() {
                server.compared = all.len();
            }
            (compared.is_ok() || has_ended).then(|| compared.clone())
        };
        until_built("the server prints the expected output", &mut look).unwrap_or(compared)
    }

    /// The output of a command, with the address of the document.
    fn output(&self, file: &Path) -> String {
        let text = String::from_utf8_lossy(&fs::read(file).expect("readable")).into_owned();
        match &self.server {
            Some(server) => text.replace(&server.address, ADDRESS),
            None => text,
        }
    }

    fn server_output(&self) -> String {
        let Some(server) = &self.server else {
            return String::new();
        };
        format!("the server:\n{}", server.text())
    }

    /// Applies a diff of one place: `--- FILE`, then lines that are removed, added and kept.
    pub(crate) fn change(&self, diff: &str) -> Result<(), String> {
        let (first, lines) = diff.split_once('\n').unwrap_or((diff, ""));
        let file = first
            .strip_prefix("--- ")
            .ok_or("expected `--- ` and a file in the first line")?;
        let side = |marks: [char; 2]| -> String {
            let lines = lines.lines().filter(|line| line.starts_with(marks));
            lines.map(|line| format!("{}\n", &line[1..])).collect()
        };
        let path = self.here.join(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
        let old = side([' ', '-']);
        if text.matches(&old).count() != 1 {
            return Err(format!("{file} does not have these lines once:\n{old}\nIt is:\n{text}"));
        }
        fs::write(&path, text.replace(&old, &side([' ', '+']))).expect("written");
        Ok(())
    }

    /// Has cargo read a part of a `Cargo.toml`, and the command anything else.
    pub(crate) fn read_toml(&self, text: &str) -> Result<(), String> {
        let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
        let folder = self.folder.join(".toml");
        fs::create_dir_all(folder.join("src")).expect("created");
        let of_cargo = ["package", "dependencies", "dev-dependencies", "profile"];
        let (file, text, command) = if table.keys().any(|key| of_cargo.contains(&key.as_str())) {
            let head = "[workspace]\n[package]\nname = \"page\"\nedition = \"2024\"\n";
            fs::write(folder.join("src/lib.rs"), "").expect("written");
            fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("copied");
            (
                "Cargo.toml",
                format!("{head}{text}"),
                "cargo metadata --format-version 1",
            )
        } else {
            // The command reads the file, and then has no server to ask.
            let admin = if table.contains_key("admin") {
                ""
            } else {
                "[admin]\nsocket = \"admin.sock\"\n"
            };
            ("pointwork.toml", format!("{text}\n{admin}"), "pointwork modules")
        };
        fs::write(folder.join(file), text).expect("written");
        let output = self.folder.join(".output");
        let status = self
            .shell(command, &output)
            .current_dir(&folder)
            .status()
            .expect("bash runs");
        let printed = self.output(&output);
        let is_read = status.success() || printed.starts_with("error: cannot reach the admin endpoint");
        if is_read { Ok(()) } else { Err(printed) }
    }

    /// Checks that an example of the binding to C, which its tests compile and run, has this code.
    pub(crate) fn show_c(&mut self, code: &str) -> Result<(), String> {
        let mut examples = fs::read_dir(root().join("host/bindings/c/examples")).expect("readable");
        let has_code = |path: PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains(code.trim_end()));
        let found = examples.any(|example| has_code(example.expect("readable").path()));
        found.then_some(()).ok_or_else(|| "no example has this code".to_owned())
    }

    /// Has the compiler of the project in the folder check a file with this code.
    pub(crate) fn check_ts(&mut self, code: &str) -> Result<(), String> {
        let file = self.here.join("src/snippet.ts");
        fs::write(&file, code).expect("written");
        let checked = self.run_once("npx tsc");
        fs::remove_file(file).expect("removed");
        checked.map(drop)
    }

    /// A module in Python has an interpreter, which a debug build of the command compiles for longer than the limit.
    fn allow_slow_compilation(&self) {
        let file = self.here.join("pointwork.toml");
        let config = fs::read_to_string(&file).unwrap_or_default();
        if self.here.join("requirements.txt").exists() && !config.starts_with("compile.time") {
            fs::write(file, format!("compile.time = \"600s\"\n{config}")).expect("written");
        }
    }

    /// Runs a program in the environment of the project in the folder.
    pub(crate) fn run_python(&mut self, code: &str) -> Result<(), String> {
        let file = self.here.join("src/snippet.py");
        fs::write(&file, code).expect("written");
        let ran = self.run_once(".venv/bin/python src/snippet.py");
        fs::remove_file(file).expect("removed");
        ran.map(drop)
    }

    /// Finds code in a program of the examples, where its port is 0, or in the folder.
    pub(crate) fn show_rust(&mut self, code: &str) -> Result<(), String> {
        let mut files = Vec::new();
        sources(&self.here, &mut files);
        sources(&root().join("examples"), &mut files);
        // The code may be indented in the program, and the lints of the repository do not concern the reader.
        let lines = |text: &str| -> String {
            let lines = text
                .lines()
                .map(str::trim)
                .filter(|line| !(line.starts_with("#[") && line.contains("(clippy::")));
            lines.map(|line| format!("{line}\n")).collect()
        };
        let code = lines(&code.replace(ADDRESS, "127.0.0.1:0"));
        let has_code = |file: &&PathBuf| fs::read_to_string(file).is_ok_and(|text| lines(&text).contains(&code));
        let found = files.iter().find(has_code).ok_or("no program has this code")?;
        let folder = root().join("examples/mount/guide");
        if let Ok(program) = found.strip_prefix(folder) {
            self.program = Some(format!("guide-{}", program.with_extension("").display()));
        }
        Ok(())
    }
}

impl Server {
    fn text(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).expect("readable")).into_owned()
    }
}

impl Drop for Server {
    /// Ends the server and the processes that it started, as Ctrl-C does.
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let send = |signal: &str| -> Option<ExitStatus> {
            Command::new("kill").args(["-s", signal, "--", &group]).status().ok()
        };
        send("INT");
        let ends = until_blocking("the server ends", || self.child.try_wait().transpose());
        if ends.is_err() {
            send("KILL");
            let _ = self.child.wait();
        }
    }
}

/// Whether a line begins with the time of day, as those of the log do.
fn is_log_line(line: &str) -> bool {
    let is_time = |word: &str| word.ends_with('Z') && word.contains('T') && word.starts_with("20");
    line.split(' ').next().is_some_and(is_time)
}

/// The folder that a document's commands build in. Documents that make a project share a folder, so that the SDK is compiled once for all.
/// Their components have the same names, so that the documents follow one another: the lock is held until the document ends.
fn target_of(page: &str) -> (PathBuf, Option<File>) {
    let text = fs::read_to_string(root().join(page)).expect("readable");
    let makes_a_project = text
        .lines()
        .any(|line| line.trim_start_matches("$ ").starts_with("pointwork new"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if !makes_a_project {
        return (folder.join("guests"), None);
    }
    let lock = File::create(folder.join("guests-of-projects.lock")).expect("created");
    lock.lock().expect("the test of another document ends");
    (folder.join("guests-of-projects"), Some(lock))
}

/// Compares an output with the one of a document, where `…` stands for anything and a digest for any other.
fn compare(printed: &str, expected: &str) -> Result<(), String> {
    let lines = |text: &str| {
        text.trim_end()
            .lines()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let any_lines = |line: &str| {
        if line.trim() == "…" {
            "...".to_owned()
        } else {
            line.replace('…', "[..]")
        }
    };
    let expected: Vec<_> = expected.lines().map(any_lines).collect();
    let expected = without_digests(&lines(&expected.join("\n")));
    let printed = without_digests(&lines(printed));
    let assert = Assert::new().palette(Palette::plain());
    let compared = assert.try_eq(None, printed.into_data(), expected.into_data());
    compared.map_err(|difference| difference.to_string())
}

/// Replaces words of twelve hexadecimal digits, which begin the digest of a component.
fn without_digests(text: &str) -> String {
    let is_digest = |word: &str| {
        let is_hex = word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hex && word.len() == 12
    };
    let words = text.split_inclusive([' ', '\n']).map(|word| {
        let end = word.trim_end();
        if is_digest(end) {
            word.replace(end, "<digest>")
        } else {
            word.to_owned()
        }
    });
    words.collect()
}

/// The path of a program of `examples/mount`, which cargo builds together with the tests of that package.
fn program_of_the_examples(name: &str) -> Result<String, String> {
    let tests = std::env::current_exe().expect("the path of this program");
    let built = tests.ancestors().nth(2).expect("the folder of the profile").join(name);
    if !built.is_file() {
        return Err(format!(
            "`{}` is missing, expected a program of `examples/mount`: run `cargo test --workspace --no-run` first",
            built.display()
        ));
    }
    Ok(built.display().to_string())
}

/// Copies a folder without what is built and kept in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("readable") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if name == "target" || name == "data" || name.contains(".sqlite") {
            continue;
        }
        let to = to.join(&*name);
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, to).expect("copied");
        }
    }
}

/// The sources of Rust in a folder, without what is built.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("readable") {
        let entry = entry.expect("readable");
        let path = entry.path();
        // A link leads to the repository.
        let is_folder = entry.file_type().expect("a type").is_dir();
        if is_folder && path.file_name().is_none_or(|name| name != "target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}
