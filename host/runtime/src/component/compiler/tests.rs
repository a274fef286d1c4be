use std::error::Error as _;
use std::fs;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use wasmtime::Store;
use wasmtime::component::Linker;

use super::artifact::compiling_engine;
use super::*;
use crate::component::engine::Engines;
use crate::component::inspect::Form;
use crate::{ModuleLimits, Worker};

/// The default, in bytes.
const STACK: usize = 512 * 1024;

const FORMS: [Form; 2] = [Form::Synchronous, Form::Asynchronous];

fn settings(form: Form) -> CodeSettings {
    CodeSettings {
        form,
        stack: STACK,
        development: false,
    }
}

/// A component whose only function returns a number.
fn component(number: i32) -> Vec<u8> {
    let text = format!(
        r#"(component
            (core module $m (memory 1) (table 1 funcref) (func (export "number") (result i32) i32.const {number}))
            (core instance $i (instantiate $m))
            (func (export "number") (result s32) (canon lift (core func $i "number"))))"#
    );
    wat::parse_str(text).expect("the component is valid")
}

/// A component of valid structure, with a function that is not.
fn invalid() -> Vec<u8> {
    let text = r#"(component (core module (func (result i32) i64.const 1)))"#;
    wat::parse_str(text).expect("the text is valid")
}

/// What an application compiles with.
#[derive(Clone, Default)]
struct Setup {
    options: CompileOptions,
    cache: Option<CacheDirectory>,
}

impl Setup {
    fn cached(directory: &TempDir) -> Self {
        Self {
            cache: Some(CacheDirectory::open(directory.path().join("cache")).unwrap()),
            ..Self::default()
        }
    }

    /// With a worker that does not exist: only the cache works.
    fn without_compiler(mut self) -> Self {
        self.options.worker = Some(Worker::new("/nonexistent/worker"));
        self
    }

    fn compiler(&self) -> Compiler {
        Compiler::new(self.options.clone(), self.cache.clone()).unwrap()
    }

    fn engines(&self) -> Engines {
        Engines::new(ModuleLimits::new(), 64 * 1024 * 1024, 2, false, false, self.compiler()).unwrap()
    }

    /// Loads a component of the synchronous form.
    fn load(&self, component: Vec<u8>) -> Result<i32, Error> {
        let (engines, threads) = (self.engines(), Arc::new(Threads::start(pointwork_core::Clock::real())?));
        let engine = &engines.engine(settings(Form::Synchronous))?.engine;
        let loading = engines
            .compiler
            .component(settings(Form::Synchronous), engine, component.into(), &threads);
        let component = Runtime::new().unwrap().block_on(loading)?;
        Ok(number(engine, &component))
    }
}

fn number(engine: &Engine, component: &Component) -> i32 {
    Runtime::new().unwrap().block_on(async {
        let mut store = Store::new(engine, ());
        store.set_epoch_deadline(u64::MAX / 2);
        let instance = Linker::new(engine)
            .instantiate_async(&mut store, component)
            .await
            .unwrap();
        let function = instance.get_typed_func::<(), (i32,)>(&mut store, "number").unwrap();
        function.call_async(&mut store, ()).await.unwrap().0
    })
}

/// The only compiled component in the cache.
fn entry(directory: &TempDir) -> std::path::PathBuf {
    let files = fs::read_dir(directory.path().join("cache")).unwrap();
    let mut entries = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some());
    let entry = entries.next().expect("there is an entry");
    assert!(entries.next().is_none());
    entry
}

#[test]
fn code_compiled_without_a_pool_runs_in_the_engine_with_the_pool() {
    let engines = Setup::default().engines();
    for form in FORMS {
        let pooled = &engines.engine(settings(form)).unwrap().engine;
        for parallel in [false, true] {
            let compiling = compiling_engine(settings(form), parallel).unwrap();
            assert_eq!(fingerprint(&compiling), fingerprint(pooled), "{form}");
        }
        let artifact = Artifact::compile(settings(form), &component(42)).unwrap();
        assert_eq!(number(pooled, &artifact.load(pooled).unwrap()), 42, "{form}");
    }
}

#[test]
fn code_for_other_settings_has_another_fingerprint_and_does_not_load() {
    let [synchronous, asynchronous] = FORMS.map(|form| compiling_engine(settings(form), false).unwrap());
    assert_ne!(fingerprint(&synchronous), fingerprint(&asynchronous));
    let artifact = Artifact::compile(settings(Form::Asynchronous), &component(1)).unwrap();
    assert!(artifact.load(&synchronous).is_err());
}

#[test]
fn a_second_start_compiles_nothing() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(Setup::cached(&directory).load(component(1)).unwrap(), 1);
    let second = Setup::cached(&directory).without_compiler();
    assert_eq!(second.load(component(1)).unwrap(), 1);
    let error = second.load(component(2)).unwrap_err();
    assert!(error.to_string().contains("does not start"), "{error}");
}

#[test]
fn a_damaged_entry_is_compiled_again_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::cached(&directory);
    setup.load(component(1)).unwrap();
    let entry = entry(&directory);
    let whole = fs::read(&entry).unwrap();
    for position in [0, 20, 50, 100, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[position] ^= 0x10;
        fs::write(&entry, bytes).unwrap();
        assert!(
            setup.clone().without_compiler().load(component(1)).is_err(),
            "{position}"
        );
        assert_eq!(setup.load(component(1)).unwrap(), 1);
        assert_eq!(setup.clone().without_compiler().load(component(1)).unwrap(), 1);
    }
}

#[test]
fn an_artifact_that_does_not_load_is_compiled_again() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::cached(&directory);
    let engine = compiling_engine(settings(FORMS[0]), false).unwrap();
    let cache = setup.cache.clone().unwrap();
    // Written with the right secret, by a host whose engine refuses what it made earlier.
    cache.entry(fingerprint(&engine), &component(1)).write(b"no code");
    assert_eq!(setup.load(component(1)).unwrap(), 1);
    assert_eq!(setup.without_compiler().load(component(1)).unwrap(), 1);
}

#[test]
fn an_invalid_component_is_refused_with_the_reason_and_not_cached() {
    let directory = tempfile::tempdir().unwrap();
    let error = Setup::cached(&directory).load(invalid()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Compile);
    let mut cause = error.source().expect("there is a cause");
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    assert!(cause.to_string().contains("type mismatch"), "{cause}");
    let files = fs::read_dir(directory.path().join("cache")).unwrap().count();
    assert_eq!(files, 1, "the key");
}

#[test]
fn a_component_that_is_too_large_is_refused_with_both_sizes() {
    let mut setup = Setup::default();
    setup.options.size = 9;
    let compiler = setup.compiler();
    assert!(compiler.check_size(9).is_ok());
    let error = compiler.check_size(10).unwrap_err();
    assert_eq!(error.to_string(), "the component has 10 bytes, the limit is 9");
}

#[test]
fn a_load_over_its_time_is_refused_and_the_thread_keeps_its_permit() {
    let mut setup = Setup::default();
    setup.options.time = Duration::ZERO;
    let (engines, threads) = (
        setup.engines(),
        Arc::new(Threads::start(pointwork_core::Clock::real()).unwrap()),
    );
    let engine = &engines.engine(settings(FORMS[0])).unwrap().engine;
    let compiler = &engines.compiler;
    let runtime = Runtime::new().unwrap();
    let load = || compiler.component(settings(FORMS[0]), engine, component(1).into(), &threads);
    // The only permit is taken, so that the load waits in vain.
    let permit = compiler.permits.clone().try_acquire_owned().unwrap();
    let error = runtime.block_on(load()).unwrap_err();
    assert!(error.to_string().contains("waited 0ns to be compiled"), "{error}");
    // The thread keeps its permit until it is done, although the load is refused before.
    let late = thread::compile(
        CompileJob {
            settings: settings(FORMS[0]),
            fingerprint: fingerprint(engine),
            component: component(1).into(),
        },
        Duration::ZERO,
        permit,
        &threads,
    );
    match runtime.block_on(late) {
        // The thread may be faster than the timer.
        Ok(_) => {}
        Err(error) => assert!(error.to_string().contains("does not compile within 0ns"), "{error}"),
    }
    let permit = runtime.block_on(compiler.permits.clone().acquire_owned());
    assert!(permit.is_ok());
}

#[test]
fn several_loads_take_turns() {
    let setup = Setup::default();
    let (engines, threads) = (
        setup.engines(),
        Arc::new(Threads::start(pointwork_core::Clock::real()).unwrap()),
    );
    let engine = &engines.engine(settings(FORMS[0])).unwrap().engine;
    let load = |number| {
        engines
            .compiler
            .component(settings(FORMS[0]), engine, component(number).into(), &threads)
    };
    let loaded = Runtime::new()
        .unwrap()
        .block_on(futures_util::future::try_join_all((0..4).map(load)))
        .unwrap();
    let numbers: Vec<_> = loaded.iter().map(|component| number(engine, component)).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
}
