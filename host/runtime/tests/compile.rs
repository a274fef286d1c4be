//! Compiling in a process of its own. This program is its own worker, of several kinds: `--worker <kind> <file>`.

#[cfg(unix)]
mod unix {
    use std::error::Error as _;
    use std::fmt::Write as _;
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use libtest_mimic::{Arguments, Failed, Trial};
    use pointwork::{App, AppOptions, CacheDirectory, Error, ErrorKind, Worker};
    use pointwork_test_clock::real::{until, until_blocking};
    use rustix::process::{Pid, test_kill_process};
    use tempfile::TempDir;
    use tokio::runtime::Runtime;

    /// The argument of a worker.
    pub(super) const WORKER: &str = "--worker";

    /// Runs a worker of that kind, which may write `file`.
    pub(super) fn work(kind: &str, file: &str) -> Result<(), Error> {
        let write_id = || {
            // By renaming: the test reads the file as soon as it is there.
            let (whole, part) = (PathBuf::from(file), PathBuf::from(format!("{file}.part")));
            fs::write(&part, std::process::id().to_string())
                .and_then(|()| fs::rename(part, whole))
                .expect("the file can be written");
        };
        let wait = || -> Result<(), Error> {
            loop {
                std::thread::park();
            }
        };
        match kind {
            "good" => pointwork::compile_worker(),
            "hangs" => {
                write_id();
                wait()
            }
            "alone" => {
                // Held until the process ends.
                let lock = File::create(file).expect("the file can be made");
                lock.try_lock().expect("no other worker compiles");
                pointwork::compile_worker()
            }
            "aborts" => std::process::abort(),
            "panics" => panic!("on purpose"),
            "ends" => Ok(()),
            "talks" => {
                let mut output = std::io::stdout();
                let written = output.write_all(b"good morning to everybody");
                written.and_then(|()| output.flush()).expect("the pipe is open");
                wait()
            }
            _ => unreachable!("no such worker: {kind}"),
        }
    }

    struct Scene {
        directory: TempDir,
        options: AppOptions,
    }

    impl Scene {
        fn new(kind: &str) -> Self {
            let directory = tempfile::tempdir().expect("a directory can be made");
            let options = AppOptions::new().max_instances(2).max_memory(64 * 1024 * 1024);
            let scene = Self { directory, options };
            scene.with_worker(kind)
        }

        fn with_worker(mut self, kind: &str) -> Self {
            let program = std::env::current_exe().expect("the test has a path");
            let worker = Worker::new(program).argument(WORKER).argument(kind);
            self.options.compile.worker = Some(worker.argument(self.file()));
            self
        }

        /// The worker's file.
        fn file(&self) -> PathBuf {
            self.directory.path().join("file")
        }

        fn app(&self) -> App {
            App::with_options(self.options.clone()).expect("the application starts")
        }

        fn load(&self, component: Vec<u8>) -> Error {
            let app = self.app();
            let loaded = runtime().block_on(async { app.module("m").bytes(component).load().await.map(drop) });
            loaded.expect_err("the component lacks what a module has")
        }
    }

    fn runtime() -> Runtime {
        Runtime::new().expect("a runtime starts")
    }

    /// A component that is a module until it is compiled and linked: it lacks the functions.
    fn component(within: &str) -> Vec<u8> {
        let text = format!(
            r#"(component {within} (instance $empty)
                (export "pointwork:module/manifest@0.2.0" (instance $empty))
                (export "pointwork:module/handlers@0.2.0" (instance $empty))
                (export "pointwork:module/listeners@0.2.0" (instance $empty)))"#
        );
        wat::parse_str(text).expect("the text is valid")
    }

    fn is_compiled(error: &Error) -> bool {
        chain(error).contains("has no function") && error.kind() == ErrorKind::WrongWorld
    }

    /// The error with its causes.
    fn chain(error: &Error) -> String {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            write!(text, ": {error}").expect("a string has room");
            cause = error.source();
        }
        text
    }

    #[track_caller]
    fn assert_says(error: &Error, expected: &str) {
        assert_eq!(error.kind(), ErrorKind::Compile, "{}", chain(error));
        assert!(chain(error).contains(expected), "{}", chain(error));
    }

    /// Whether a process has ended and was waited for.
    fn is_gone(process: i32) -> bool {
        test_kill_process(Pid::from_raw(process).expect("it is a process id")).is_err()
    }

    /// The process id that the worker wrote.
    fn written_id(file: &Path) -> Option<i32> {
        fs::read_to_string(file).ok()?.parse().ok()
    }

    fn a_worker_compiles() {
        assert!(is_compiled(&Scene::new("good").load(component("(core module (func))"))));
    }

    fn the_compilers_error_comes_back_with_its_causes() {
        let invalid = component("(core module (func (result i32) i64.const 1))");
        let error = Scene::new("good").load(invalid);
        assert_says(&error, "the component does not compile: ");
        assert_says(&error, "type mismatch");
    }

    fn a_second_start_needs_no_worker() {
        let mut scene = Scene::new("good");
        let cache = CacheDirectory::open(scene.directory.path().join("cache")).expect("it can be made");
        scene.options.cache = Some(cache);
        assert!(is_compiled(&scene.load(component("(core module (func))"))));
        scene.options.compile.worker = Some(Worker::new("/nonexistent/worker"));
        assert!(is_compiled(&scene.load(component("(core module (func))"))));
        let error = scene.load(component("(core module (func nop))"));
        assert_says(&error, "the compile worker `/nonexistent/worker` does not start");
    }

    fn a_worker_that_dies_says_how() {
        for (kind, expected) in [
            ("aborts", "the compile worker crashed with signal 6"),
            ("panics", "the compile worker panicked: its standard error: "),
            ("ends", "the compile worker ended without an answer"),
            (
                "talks",
                "the compile worker answers `good morni`, expected compiled code",
            ),
        ] {
            assert_says(&Scene::new(kind).load(component("")), expected);
        }
    }

    fn a_worker_that_needs_too_much_memory_says_so() {
        let mut scene = Scene::new("good");
        scene.options.compile.memory = 64 * 1024 * 1024;
        // Within the bound, but not while room is made for more of it.
        let data = "x".repeat(1024 * 1024);
        let mut module = String::from("(core module (memory 1)");
        for _ in 0..48 {
            write!(module, "(data (i32.const 0) \"{data}\")").expect("a string has room");
        }
        module.push(')');
        let error = scene.load(component(&module));
        assert_says(
            &error,
            "the compile worker ran out of memory: its limit is 67108864 bytes",
        );
    }

    fn a_worker_that_needs_too_much_processor_time_says_so() {
        let mut scene = Scene::new("good");
        scene.options.compile.time = Duration::from_secs(1);
        let mut module = String::from("(core module");
        for function in 0..2_000 {
            module.push_str("(func (param i32) (result i32) local.get 0");
            for number in 0..400 {
                write!(
                    module,
                    " i32.const {} i32.mul local.get 0 i32.xor",
                    function * 7 + number
                )
                .expect("a string has room");
            }
            module.push(')');
        }
        module.push(')');
        let error = scene.load(component(&module));
        // On a machine that is busy with other things the clock comes first.
        let text = chain(&error);
        let ends = ["used up its processor time of 1s", "does not compile within 4s"];
        assert!(ends.iter().any(|end| text.contains(end)), "{text}");
    }

    fn a_worker_that_hangs_is_killed_when_its_time_is_over() {
        let mut scene = Scene::new("hangs");
        // Long enough to write its id.
        scene.options.compile.time = Duration::from_millis(500);
        let error = scene.load(component(""));
        assert_says(
            &error,
            "the component does not compile within 2s; its limit is 500ms of processor time",
        );
        let process = written_id(&scene.file()).expect("the worker wrote its id");
        assert!(is_gone(process), "before the load returns");
    }

    fn a_load_that_is_cancelled_kills_its_worker() {
        let scene = Scene::new("hangs");
        let app = scene.app();
        let process = runtime().block_on(async {
            let file = scene.file();
            tokio::select! {
                started = until("the worker starts", || written_id(&file).is_some()) => {
                    started.expect("it writes its id");
                    written_id(&file).expect("an id")
                }
                loaded = app.module("m").bytes(component("")).load() => panic!("{loaded:?}"),
            }
        });
        let gone = until_blocking("the worker is gone", || is_gone(process).then_some(()));
        gone.expect("it is killed");
    }

    fn workers_take_turns() {
        let scene = Scene::new("alone");
        let app = scene.app();
        runtime().block_on(async {
            let [a, b, c] =
                ["a", "b", "c"].map(|name| app.module(name).bytes(component("(core module (func))")).load());
            let (a, b, c) = tokio::join!(a, b, c);
            for loaded in [a, b, c] {
                let error = loaded.map(drop).expect_err("the component lacks what a module has");
                assert!(is_compiled(&error), "{}", chain(&error));
            }
        });
    }

    fn an_import_without_its_grant_is_refused_and_nothing_is_compiled() {
        let scene = Scene::new("alone");
        let error = scene.load(component(
            r#"(import "wasi:filesystem/types@0.2.6" (instance)) (core module (func))"#,
        ));
        assert_eq!(error.kind(), ErrorKind::ForbiddenImport, "{}", chain(&error));
        assert!(
            chain(&error).contains("imports `wasi:filesystem/types@0.2.6`, which it was not granted"),
            "{}",
            chain(&error)
        );
        assert!(!scene.file().exists(), "no worker was started");
        assert!(is_compiled(&scene.load(component("(core module (func))"))));
        assert!(scene.file().exists(), "one worker was started");
    }

    pub(super) fn run() -> std::process::ExitCode {
        let tests: [(&str, fn()); 10] = [
            ("a_worker_compiles", a_worker_compiles),
            (
                "the_compilers_error_comes_back_with_its_causes",
                the_compilers_error_comes_back_with_its_causes,
            ),
            ("a_second_start_needs_no_worker", a_second_start_needs_no_worker),
            ("a_worker_that_dies_says_how", a_worker_that_dies_says_how),
            (
                "a_worker_that_needs_too_much_memory_says_so",
                a_worker_that_needs_too_much_memory_says_so,
            ),
            (
                "a_worker_that_needs_too_much_processor_time_says_so",
                a_worker_that_needs_too_much_processor_time_says_so,
            ),
            (
                "a_worker_that_hangs_is_killed_when_its_time_is_over",
                a_worker_that_hangs_is_killed_when_its_time_is_over,
            ),
            (
                "a_load_that_is_cancelled_kills_its_worker",
                a_load_that_is_cancelled_kills_its_worker,
            ),
            ("workers_take_turns", workers_take_turns),
            (
                "an_import_without_its_grant_is_refused_and_nothing_is_compiled",
                an_import_without_its_grant_is_refused_and_nothing_is_compiled,
            ),
        ];
        let trials = tests.map(|(name, test)| {
            Trial::test(name, move || {
                test();
                Ok::<(), Failed>(())
            })
        });
        libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
    }
}

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &*arguments {
        [option, kind, file] if option == unix::WORKER => match unix::work(kind, file) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        _ => unix::run(),
    }
}

#[cfg(not(unix))]
fn main() {}
