//! Projects in TypeScript and JavaScript: `new`, `build`, `dev`, `doctor`.

use std::path::{Path, PathBuf};
use std::process;

use serde_json::json;
use snapbox::cmd::Command;
use snapbox::str;

use crate::server::Server;
use crate::{Says, folder, pointwork, refused, run, stderr, write};

/// A new project at a place of its own, without what another run left.
fn project(name: &str, lang: &str, template: &str) -> PathBuf {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR")).join("typescript");
    let folder = parent.join(name);
    std::fs::create_dir_all(&parent).expect("created");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("removed");
    }
    run(&parent, &format!("new {name} --lang {lang} --template {template}"))
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

/// The unit tests of a project.
fn test(project: &Path) {
    let mut command = process::Command::new("npm");
    let output = command.arg("test").current_dir(project).output().expect("npm runs");
    let [out, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{out}{errors}");
}

#[test]
fn project_in_typescript_is_complete() {
    let shop = project("ts-shop", "ts", "controller");
    let text = stderr(run(&shop, "build"), 0);
    text.says([
        "note: installing @pointwork/guest, @types/node, componentize-qjs, esbuild, typescript in . with npm",
        "note: compiling @pointwork/guest in vendor/pointwork-guest",
    ]);
    assert!(!text.contains("warning"), "{text}");
    run(&shop, "build")
        .assert()
        .success()
        .stdout_eq("built target/pointwork/ts-shop.wasm ([..]): synchronous\n")
        .stderr_eq("");
    let sources = std::fs::read_to_string(shop.join("target/pointwork/ts-shop.d")).expect("it is there");
    assert!(sources.contains("/ts-shop/src/greetings.ts"), "{sources}");
    test(&shop);
    run(&shop, "routes").assert().success().stdout_eq(str![[r#"
...
[..]/greetings/:name[..]Greetings[..]show[..]
...
"#]]);
    let found = pointwork(&shop).arg("doctor").output().expect("it runs").stdout;
    String::from_utf8(found).expect("text").says([
        "ok       node v",
        "ok       npm ",
        "ok       the packages of ./package.json are installed",
        "ok       @pointwork/guest 0.2.0, of the contract of pointwork 0.2.0",
    ]);

    let server = Server::start(&shop, [""; 0]);
    let greeted = server.get("/greetings/Ada").json();
    assert_eq!(greeted, json!({"text": "Hello, Ada!", "visits": 0}));
    server.until(|| server.get("/greetings/Ada").json()["visits"] != 0);
    assert_eq!(server.send("POST", "/greetings", Some(r#"{"name": " "}"#)).status, 422);
    drop(server);
    develop(&shop);
}

/// What `pointwork dev` does with a project.
fn develop(shop: &Path) {
    let server = Server::develop(shop, &shop.join("target"));
    let greeting = || server.get("/greetings/Ada").json()["text"].to_string();
    assert_eq!(greeting(), "\"Hello, Ada!\"");
    change(shop, "src/greetings.ts", "Hello, ${name}", "Good morning, ${name}");
    server.until(|| greeting() == "\"Good morning, Ada!\"");
    server.logged("after src/greetings.ts changed");

    // A mistake is told with its place.
    change(shop, "src/greetings.ts", "@Get()\n", "@Get(\n");
    server.logged("src/greetings.ts:21: ");
    server.logged("the version before of module `ts-shop` serves on");
    assert_eq!(greeting(), "\"Good morning, Ada!\"");
    change(
        shop,
        "src/greetings.ts",
        "@Get(\n  index(): string {\n",
        "@Get()\n  index(): string {\n    if (name === '') throw new RangeError('too short');\n",
    );
    change(
        shop,
        "src/greetings.ts",
        "/** The controllers",
        "const name = '';\n\n/** The controllers",
    );
    server.until(|| server.get("/greetings").status == 500);
    // So is a crash, and where the source has it.
    let body = server.get("/greetings").json();
    let crash = body["crashes"][0]["message"].to_string();
    assert!(crash.contains("RangeError: too short"), "{body}");
    assert!(crash.contains("src/greetings.ts:24"), "{body}");

    // A new file.
    write(shop, "src/words.ts", "export const WORD = 'Good evening';\n");
    change(shop, "src/greetings.ts", "Good morning, ${name}", "${WORD}, ${name}");
    change(
        shop,
        "src/greetings.ts",
        "const name = '';",
        "import { WORD } from './words.ts';\n\nconst name = 'Ada';",
    );
    server.until(|| greeting() == "\"Good evening, Ada!\"");
    change(shop, "src/words.ts", "Good evening", "Good night");
    server.until(|| greeting() == "\"Good night, Ada!\"");
    assert_eq!(server.get("/greetings").status, 200);
    assert_eq!(server.stop("TERM").code, Some(0));
}

#[test]
fn project_in_javascript_with_both_is_complete() {
    let shop = project("js-shop", "js", "both");
    let several = stderr(run(&shop, "build"), 1);
    several.says([
        "has several packages to build: `js-shop-db` and `js-shop`",
        "as in `pointwork build -p js-shop-db`",
    ]);
    for arguments in ["build controllers", "build -p js-shop-db"] {
        run(&shop, arguments).assert().success();
    }
    test(&shop);
    assert!(shop.join("target/pointwork/js-shop-db.wasm").is_file());
    let server = Server::start(&shop, [""; 0]);
    let greeted = server.get("/greetings/Ada").json();
    assert_eq!(greeted, json!({"text": "Hello, Ada!", "visits": 0}));
    // The channel takes both for the same visitor.
    server.until(|| server.get("/greetings/ADA").json()["visits"] != 0);
}

#[test]
fn channel_reads_a_granted_directory_and_the_clock_of_the_host() {
    let shop = project("ts-notes", "ts", "channel");
    let config = "[[module]]\npath = \"target/pointwork/ts-notes.wasm\"\nbuild = \".\"\n[module.grant]\n";
    let directory = "directories = [{ host = \"notes\", guest = \"/notes\", access = \"read-write\" }]\n";
    write(&shop, "notes/tea.txt", "Assam, black");
    write(&shop, "src/module.ts", include_str!("typescript/notes.ts"));
    write(&shop, "pointwork.toml", config);
    run(&shop, "build").assert().success();
    stderr(run(&shop, "serve --listen 127.0.0.1:0"), 5).says(["clocks = true", "output = true", "directories = []"]);

    write(
        &shop,
        "pointwork.toml",
        format!("limits.cpu = \"2s\"\n{config}clocks = true\noutput = true\n{directory}"),
    );
    stderr(run(&shop, "check target/pointwork/ts-notes.wasm -c pointwork.toml"), 0).says([
        "warning: `length` in `response-schema` of `Page.show` is an integer past 2^53, which arrives as the nearest number",
    ]);
    let shows = |server: &Server| {
        let refused = [
            "no-entry: `/notes/none`: no entry",
            "not-permitted: `/notes/../none`: not permitted",
            "no-entry: `/etc`: it is in none of the directories that the module is granted: `/notes`",
        ];
        let all = json!({"length": 100_000, "names": ["tea.txt"], "text": "Assam, black", "refused": refused});
        assert_eq!(server.get("/all").json(), all, "{}", server.log());
        assert_eq!(server.get("/now").json(), json!([true, true]));
    };
    let server = Server::start(&shop, [""; 0]);
    shows(&server);
    // A schema that runs out of memory ends no instance.
    let checked = |count| server.send("POST", "/checked", Some(&json!(vec![0; count]).to_string()));
    for _ in 0..3 {
        let refused = checked(60_000);
        assert_eq!(refused.status, 422, "{}", server.log());
        assert_eq!(
            refused.json()["message"],
            "the value has too many parts or mistakes to be checked"
        );
    }
    assert_eq!(checked(20).json()["message"], "40 fields are not valid");
    // Jobs without an end are ended as a loop is.
    // By the limit of processor time, or on a busy machine by the deadline.
    assert_eq!(server.get("/chain").status, 504);
    shows(&server);
    shows(&Server::develop(&shop, &shop.join("target")));
}

#[test]
fn what_is_for_rust_is_refused() {
    let folder = folder();
    refused(run(&folder, "new shop --lang ts --template host"), 2).stderr_eq(str![[r#"
error: the template `host` is a program in Rust; expected `controller`, `channel` or `both`
hint: `pointwork new shop --template host` makes one, with a module in Rust

"#]]);
    run(&folder, "new shop --lang ts").assert().success();
    let shop = folder.path().join("shop");
    for option in [
        "--profile dev",
        "--target-dir target",
        "--target wasm32-wasip2",
        "-- --features a",
    ] {
        stderr(run(&shop, &format!("build {option}")), 2)
            .says([" for cargo, and `package.json` is no project in Rust"]);
    }
    assert!(!shop.join("node_modules").exists());
    stderr(run(&folder, "new shop --lang go"), 2).says(["invalid value 'go'", "possible values: rust, ts, js, python"]);
}

#[test]
fn package_that_is_no_project_is_told_what_it_lacks() {
    let folder = folder();
    write(&folder, "package.json", "{\"name\": \"shop\"}");
    refused(run(&folder, "build"), 1).stderr_eq(str![[r#"
error: `package.json` does not depend on `@pointwork/guest`
hint: `pointwork vendor` writes a copy of it into the project, and package.json names it:

      "dependencies": {
        "@pointwork/guest": "file:vendor/pointwork-guest"
      }

"#]]);
    write(&folder, "package.json", "{\"name\": 7}");
    stderr(run(&folder, "build"), 1).says(["package.json` is not the manifest of a package", "line 1 column 10"]);
    let dependencies = "\"dependencies\": {\"@pointwork/guest\": \"file:vendor/pointwork-guest\"}";
    write(
        &folder,
        "package.json",
        format!("{{\"name\": \"@acme/shop\", {dependencies}}}"),
    );
    stderr(run(&folder, "build"), 1).says([
        "package `shop` has no `src/module.ts` or `src/module.js`",
        "hint: `export default module(",
    ]);
    write(
        &folder,
        "package.json",
        format!("{{\"main\": \"src/app.ts\", {dependencies}}}"),
    );
    stderr(run(&folder, "build"), 1).says(["has no `src/app.ts`", "hint: `main` in package.json names the file"]);
}

/// A script in place of a tool, in a folder that is all of PATH.
#[cfg(unix)]
fn without_tools(command: Command, tools: &Path, scripts: &[(&str, &str)]) -> Command {
    use std::os::unix::fs::PermissionsExt;
    for (tool, script) in scripts {
        write(tools, tool, format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(tools.join(tool), PermissionsExt::from_mode(0o755)).expect("changed");
    }
    command.env("PATH", tools)
}

#[cfg(unix)]
#[test]
fn missing_tool_is_named_with_the_way_to_get_it() {
    let folder = folder();
    run(&folder, "new shop --lang ts").assert().success();
    let (shop, tools) = (folder.path().join("shop"), folder.path().join("tools"));
    std::fs::create_dir(&tools).expect("created");
    let build = |scripts: &[(&str, &str)]| stderr(without_tools(run(&shop, "build"), &tools, scripts), 4);
    let hint = "hint: install Node 20 or later, with npm, from https://nodejs.org";
    build(&[]).says(["error: cannot run `node`, which builds modules in TypeScript", hint]);
    build(&[("node", "echo v18.20.1")]).says([
        "error: Node 20 or later builds modules in TypeScript: this is v18.20.1",
        hint,
    ]);
    build(&[("node", "echo v20.0.0")]).says(["error: cannot run `npm`", hint]);
    // As without a network.
    build(&[("npm", "echo 'npm error code ENOTFOUND' >&2; exit 1")]).says([
        "npm error code ENOTFOUND",
        "error: npm could not install @pointwork/guest, @types/node, componentize-qjs, esbuild, typescript in `.`",
        "hint: with a network: (cd ",
        "/shop && npm install)",
    ]);
    let doctor = without_tools(run(&shop, "doctor"), &tools, &[("node", "exit 1")]).env_remove("CARGO");
    let found = doctor.output().expect("it runs").stdout;
    String::from_utf8(found).expect("text").says([
        "missing  cannot run `node`, which builds modules in TypeScript",
        "install Node 20 or later",
    ]);
}
