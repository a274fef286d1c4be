//! Configurations without a module, which say what to do.

use snapbox::str;

use crate::server::Server;
use crate::{folder, pointwork, run, stderr, write};

/// The end of each such message.
const WHAT_TO_DO: &str = "\
hint: `pointwork new NAME` creates a project with a module, `pointwork build` compiles one. A module in the configuration:

      [[module]]
      path = \"target/pointwork/shop.wasm\"
      build = \".\"  # the folder of its sources
";

#[test]
fn missing_configuration_is_an_error_with_every_way_out() {
    for command in ["serve", "routes"] {
        pointwork(&folder())
            .arg(command)
            .assert()
            .code(3)
            .stdout_eq("")
            .stderr_eq(str![[r#"
error: there is no `pointwork.toml` in this folder
hint: `pointwork new NAME` creates a project with one
      `--config FILE` names the configuration of another folder
      a component on the command line needs none: `pointwork serve shop.wasm`

"#]]);
    }
}

#[test]
fn configuration_without_a_module_is_served_and_explained() {
    for config in ["", "[limits]\nbody = 100\n", "module = []\n", "prefix = \"/api\"\n"] {
        let folder = folder();
        write(&folder, "pointwork.toml", config);
        let expected = format!("warning: there are no routes: pointwork.toml lists no module\n{WHAT_TO_DO}");
        assert_eq!(stderr(run(&folder, "routes"), 0), expected, "{config}");
        run(&folder, "routes --json").assert().success().stdout_eq("[]\n");

        let server = Server::start(folder.path(), [""; 0]);
        let errors = std::fs::read_to_string(folder.path().join("errors.log")).expect("text");
        assert_eq!(errors, expected, "{config}");
        assert_eq!(server.get("/").error(), (404, "no route for GET /".to_owned()));
    }
}

#[cfg(unix)]
#[test]
fn endpoint_is_another_way_to_a_module() {
    let folder = folder();
    write(&folder, "pointwork.toml", "[admin]\nsocket = \"admin.sock\"\n");
    let server = Server::start(folder.path(), [""; 0]);
    server.logged("`pointwork swap NAME FILE` uploads a module while the server runs");
    write(&folder, "shop.wasm", crate::versions::version(1));
    run(&folder, "swap shop shop.wasm").assert().success();
    assert_eq!(crate::versions::served(&server), 1);
}

#[test]
fn modules_without_a_controller_are_named() {
    use pointwork_suite::guest::{Channel, Guest, Program};
    let folder = folder();
    let module = Guest::new().channel(Channel::new("db").on("one", Program::new()));
    write(&folder, "store.wasm", module.build());
    let text = stderr(run(&folder, "routes store.wasm"), 0);
    assert_eq!(
        text,
        "warning: there are no routes: no controller in `store`\n\
         hint: in Rust, a controller has the attribute `#[controller]`, and its module names it in `module!`\n\
         hint: in TypeScript, a controller has the decorator `@Controller`, and `module({ controllers: […] })` lists it\n\
         hint: in Python, a controller is a class with `@controller`, and `app = Module(controllers=[…])` lists it\n"
    );

    // A collector of the log gets the error too.
    let server = Server::start(folder.path(), ["store.wasm", "--log-format", "json"]);
    let end = server.stop("TERM");
    let lines = end
        .errors
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let errors: Vec<_> = lines.filter(|line| line["level"] == "ERROR").collect();
    assert_eq!(errors.len(), 1, "{}", end.errors);
    let message = errors[0]["message"].as_str().expect("a text");
    assert!(
        message.starts_with("the route replay is missing: adapter `hyper` received no route"),
        "{message}"
    );
}
