//! A host that answers the contract with what a test says.

use wasmtime::component::types::ComponentFunc;
use wasmtime::component::{Component, Instance, Linker, LinkerInstance, Val};
use wasmtime::{Engine, Store, StoreContextMut, StoreLimits, StoreLimitsBuilder};

/// The answers of the host, and the arguments that it got.
#[derive(Default)]
pub(crate) struct Host {
    /// The answers of `now` and `monotonic`.
    pub(crate) clocks: [(u64, u32); 2],
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    random: u32,
    pub(crate) printed: Vec<(bool, String)>,
    pub(crate) crash: Option<String>,
    limits: StoreLimits,
}

/// An instance of a component that imports the contract alone.
pub(crate) struct Guest {
    store: Store<Host>,
    instance: Instance,
}

impl Host {
    /// The number of random bytes that were taken.
    pub(crate) fn drawn(&self) -> u32 {
        self.random
    }
}

impl Guest {
    pub(crate) fn new(engine: &Engine, component: &Component) -> Self {
        let mut linker = Linker::new(engine);
        add_contract(&mut linker).expect("new names");
        let host = Host {
            limits: StoreLimitsBuilder::new().memory_size(1 << 20).build(),
            ..Host::default()
        };
        let mut store = Store::new(engine, host);
        store.limiter(|host| &mut host.limits);
        let instance = linker.instantiate(&mut store, component);
        let instance = instance.expect("the component imports the contract alone");
        Self { store, instance }
    }

    pub(crate) fn host(&mut self) -> &mut Host {
        self.store.data_mut()
    }

    /// Calls a function of an exported interface, or one that the component itself exports. A trap is its text.
    pub(crate) fn call(
        &mut self,
        interface: Option<&str>,
        name: &str,
        arguments: &[Val],
    ) -> Result<Option<Val>, String> {
        let interface = interface.map(|interface| {
            let index = self.instance.get_export_index(&mut self.store, None, interface);
            index.unwrap_or_else(|| panic!("`{interface}` is exported"))
        });
        let index = self
            .instance
            .get_export_index(&mut self.store, interface.as_ref(), name);
        let index = index.unwrap_or_else(|| panic!("`{name}` is exported"));
        let function = self.instance.get_func(&mut self.store, index).expect("a function");
        let mut results = vec![Val::Bool(false); function.ty(&self.store).results().len()];
        function
            .call(&mut self.store, arguments, &mut results)
            .map_err(|trap| format!("{trap:#}"))?;
        Ok(results.pop())
    }
}

fn add_contract(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    let mut environment = linker.instance("pointwork:module/environment@0.2.0")?;
    for (clock, name) in ["now", "monotonic"].into_iter().enumerate() {
        add(&mut environment, name, move |host, _| {
            let (seconds, nanoseconds) = host.clocks[clock];
            let seconds = ("seconds".to_owned(), Val::U64(seconds));
            Some(Val::Record(vec![
                seconds,
                ("nanoseconds".to_owned(), Val::U32(nanoseconds)),
            ]))
        })?;
    }
    // 0x04030201, 0x08070605 and so on: bytes that count.
    add(&mut environment, "random", |host, _| {
        host.random += 4;
        let last = u8::try_from(host.random).expect("a few numbers");
        Some(Val::U32(u32::from_be_bytes([last, last - 1, last - 2, last - 3])))
    })?;
    add(&mut environment, "variables", |host, _| {
        let variables = host.variables.iter().map(|&(name, value)| {
            let text = |of: &str, text: &str| (of.to_owned(), Val::String(text.to_owned()));
            Val::Record(vec![text("name", name), text("value", value)])
        });
        Some(Val::List(variables.collect()))
    })?;
    let mut log = linker.instance("pointwork:module/log@0.2.0")?;
    add(&mut log, "print", |host, arguments| {
        let [Val::Bool(to_error), Val::List(bytes)] = arguments else {
            panic!("{arguments:?}")
        };
        let bytes = bytes.iter().map(|byte| match byte {
            Val::U8(byte) => *byte,
            other => panic!("{other:?}"),
        });
        let text = String::from_utf8(bytes.collect()).expect("text");
        host.printed.push((*to_error, text));
        None
    })?;
    add(&mut log, "panicked", |host, arguments| {
        let [Val::Record(crash)] = arguments else {
            panic!("{arguments:?}")
        };
        let [(_, Val::String(message)), (_, Val::Option(None)), (_, Val::List(stack))] = &crash[..] else {
            panic!("{crash:?}")
        };
        assert!(stack.is_empty());
        host.crash = Some(message.clone());
        None
    })
}

fn add(
    interface: &mut LinkerInstance<'_, Host>,
    name: &str,
    function: impl Fn(&mut Host, &[Val]) -> Option<Val> + Send + Sync + 'static,
) -> wasmtime::Result<()> {
    interface.func_new(
        name,
        move |mut store: StoreContextMut<'_, Host>, _: ComponentFunc, arguments: &[Val], results: &mut [Val]| {
            if let Some(result) = function(store.data_mut(), arguments) {
                results[0] = result;
            }
            Ok(())
        },
    )
}
