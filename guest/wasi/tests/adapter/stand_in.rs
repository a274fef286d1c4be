//! A guest with a memory and nothing else, and a host that answers the contract with what a test says.

use wasmtime::{Instance, Linker, Memory, MemoryType, Module, Store, Val, ValType};

const LOG: &str = "pointwork:module/log@0.2.0";
const ENVIRONMENT: &str = "pointwork:module/environment@0.2.0";

/// Where the memory begins that the guest allocates.
const HEAP: u32 = 32_768;

/// The answers of the host to the adapter, and the arguments that the host got.
#[derive(Default)]
struct Host {
    /// The answers of `now` and `monotonic`.
    clocks: [(u64, u32); 2],
    variables: Vec<(String, String)>,
    random: u8,
    printed: Vec<(bool, String)>,
    crash: Option<String>,
    /// The number of bytes that the guest allocated.
    allocated: u32,
}

impl Host {
    fn allocate(&mut self, align: u32, size: u32) -> u32 {
        let at = (HEAP + self.allocated).next_multiple_of(align);
        self.allocated = at + size - HEAP;
        at
    }
}

/// The adapter with a memory, and with a host.
pub(crate) struct Guest {
    store: Store<Host>,
    instance: Instance,
    memory: Memory,
}

/// The parameters and the results of an export, a letter for each: `i` has 32 bits, `l` 64.
pub(crate) fn signature(adapter: &Module, name: &str) -> String {
    let ty = adapter.get_export(name).expect("the function is there");
    let ty = ty.unwrap_func();
    let letter = |kind: ValType| if matches!(kind, ValType::I32) { 'i' } else { 'l' };
    let (parameters, results): (String, String) =
        (ty.params().map(letter).collect(), ty.results().map(letter).collect());
    format!("{parameters}>{results}")
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn text(bytes: &[u8], at: u32, length: u32) -> String {
    let at = at as usize;
    String::from_utf8(bytes[at..at + length as usize].to_vec()).expect("text")
}

impl Guest {
    pub(crate) fn new(adapter: &Module) -> Self {
        let engine = adapter.engine();
        let mut store = Store::new(engine, Host::default());
        let memory = Memory::new(&mut store, MemoryType::new(1, None)).expect("a memory");
        let mut linker = Linker::new(engine);
        linker.define(&store, "env", "memory", memory).expect("a new name");
        add_contract(&mut linker, memory).expect("new names");
        let instance = linker.instantiate(&mut store, adapter).expect("every import is there");
        Self {
            store,
            instance,
            memory,
        }
    }

    /// Calls an export. A number becomes what the parameter takes. A trap is its text, with the causes.
    pub(crate) fn call(&mut self, name: &str, arguments: &[i64]) -> Result<Option<i32>, String> {
        let function = self
            .instance
            .get_func(&mut self.store, name)
            .expect("the function is there");
        let ty = function.ty(&self.store);
        let arguments: Vec<Val> = ty
            .params()
            .zip(arguments)
            .map(|(kind, &argument)| match kind {
                ValType::I32 => Val::I32(i32::try_from(argument).expect("32 bits")),
                _ => Val::I64(argument),
            })
            .collect();
        let mut results = vec![Val::I32(-1); ty.results().len()];
        function
            .call(&mut self.store, &arguments, &mut results)
            .map_err(|trap| format!("{trap:#}"))?;
        Ok(results.first().map(Val::unwrap_i32))
    }

    pub(crate) fn set_clocks(&mut self, clocks: [(u64, u32); 2]) {
        self.store.data_mut().clocks = clocks;
    }

    pub(crate) fn set_variables(&mut self, variables: &[(&str, &str)]) {
        let owned = variables
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        self.store.data_mut().variables = owned.collect();
    }

    /// The arguments of `log.print` since the last call of this function: whether it is the standard error, and the text.
    pub(crate) fn printed(&mut self) -> Vec<(bool, String)> {
        std::mem::take(&mut self.store.data_mut().printed)
    }

    /// The sentence of the crash that was reported.
    pub(crate) fn crash(&self) -> Option<&str> {
        self.store.data().crash.as_deref()
    }

    /// The number of bytes that the guest allocated.
    pub(crate) fn allocated(&self) -> u32 {
        self.store.data().allocated
    }

    pub(crate) fn put(&mut self, at: usize, bytes: &[u8]) {
        self.memory
            .write(&mut self.store, at, bytes)
            .expect("within the memory");
    }

    pub(crate) fn put_numbers(&mut self, at: usize, numbers: &[i32]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.put(at, &bytes);
    }

    pub(crate) fn bytes(&self, at: usize, length: usize) -> &[u8] {
        &self.memory.data(&self.store)[at..at + length]
    }

    pub(crate) fn number(&self, at: usize) -> u32 {
        number(self.memory.data(&self.store), at)
    }

    pub(crate) fn long(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at, 8).try_into().expect("eight bytes"))
    }
}

/// Adds the functions of the contract, as the encoder lowers them, and the allocator of the guest.
fn add_contract(linker: &mut Linker<Host>, memory: Memory) -> wasmtime::Result<()> {
    linker.func_wrap(
        "__main_module__",
        "cabi_realloc",
        |mut caller: wasmtime::Caller<'_, Host>, _: u32, _: u32, align: u32, size: u32| {
            caller.data_mut().allocate(align, size)
        },
    )?;
    for (clock, name) in ["now", "monotonic"].into_iter().enumerate() {
        linker.func_wrap(
            ENVIRONMENT,
            name,
            move |mut caller: wasmtime::Caller<'_, Host>, to: u32| {
                let (bytes, host) = memory.data_and_store_mut(&mut caller);
                let to = to as usize;
                let (seconds, nanoseconds) = host.clocks[clock];
                bytes[to..to + 8].copy_from_slice(&seconds.to_le_bytes());
                bytes[to + 8..to + 12].copy_from_slice(&nanoseconds.to_le_bytes());
                // The rest of the record's 16 bytes has no meaning.
                bytes[to + 12..to + 16].fill(0xee);
            },
        )?;
    }
    // 0x04030201, 0x08070605 and so on: bytes that count.
    linker.func_wrap(ENVIRONMENT, "random", |mut caller: wasmtime::Caller<'_, Host>| {
        let from = caller.data().random;
        caller.data_mut().random += 4;
        u32::from_le_bytes([from + 1, from + 2, from + 3, from + 4])
    })?;
    linker.func_wrap(
        ENVIRONMENT,
        "variables",
        move |mut caller: wasmtime::Caller<'_, Host>, to: u32| {
            let (bytes, host) = memory.data_and_store_mut(&mut caller);
            let variables = host.variables.clone();
            let count = u32::try_from(variables.len()).expect("a few");
            let list = host.allocate(4, 16 * count);
            let mut entry = list as usize;
            for part in variables.iter().flat_map(|(name, value)| [name, value]) {
                let length = u32::try_from(part.len()).expect("a short text");
                let at = host.allocate(1, length);
                bytes[at as usize..][..part.len()].copy_from_slice(part.as_bytes());
                bytes[entry..entry + 4].copy_from_slice(&at.to_le_bytes());
                bytes[entry + 4..entry + 8].copy_from_slice(&length.to_le_bytes());
                entry += 8;
            }
            let to = to as usize;
            bytes[to..to + 4].copy_from_slice(&list.to_le_bytes());
            bytes[to + 4..to + 8].copy_from_slice(&count.to_le_bytes());
        },
    )?;
    linker.func_wrap(
        LOG,
        "print",
        move |mut caller: wasmtime::Caller<'_, Host>, to_error: u32, at: u32, length: u32| {
            let (bytes, host) = memory.data_and_store_mut(&mut caller);
            host.printed.push((to_error == 1, text(bytes, at, length)));
        },
    )?;
    linker.func_wrap(
        LOG,
        "panicked",
        move |mut caller: wasmtime::Caller<'_, Host>, at: u32, length: u32, a: u32, b: u32, c: u32, d: u32, e: u32| {
            assert_eq!([a, b, c, d, e], [0; 5], "neither an exception nor frames");
            let (bytes, host) = memory.data_and_store_mut(&mut caller);
            host.crash = Some(text(bytes, at, length));
        },
    )?;
    Ok(())
}
