//! Compares the bindings under `src/bindings/` with the contract in `wit/`.
//!
//! The bindings are generated ahead of time, so that a user's build needs no bindings generator. This test generates
//! them again in memory and fails if the files differ. Update them after a change of the contract:
//!
//! ```text
//! UPDATE_BINDINGS=1 cargo test -p pointwork-guest --test bindings
//! ```

use std::error::Error;
use std::fs;
use std::path::Path;

use wit_bindgen_core::{Files, WorldGenerator as _};
use wit_bindgen_rust::{Opts, WithOption};
use wit_parser::Resolve;

/// One file of bindings.
struct Bindings {
    /// The name of the module, the file and the export macro.
    module: &'static str,
    world: &'static str,
    /// The imported interfaces whose types and functions are in `imports.rs`. Empty for that file itself.
    shared: &'static [&'static str],
}

const BINDINGS: &[Bindings] = &[
    Bindings {
        module: "imports",
        world: "imports",
        shared: &[],
    },
    Bindings {
        module: "controller_module",
        world: "controller-module",
        shared: &["types", "context", "log"],
    },
    Bindings {
        module: "controller_module_async",
        world: "controller-module-async",
        shared: &["types", "context", "context-async", "log"],
    },
    Bindings {
        module: "channel_module",
        world: "channel-module",
        shared: &["types", "context", "events", "log"],
    },
    Bindings {
        module: "channel_module_async",
        world: "channel-module-async",
        shared: &["types", "context", "context-async", "events", "events-async", "log"],
    },
    Bindings {
        module: "full_module",
        world: "full-module",
        shared: &["types", "context", "events", "log"],
    },
    Bindings {
        module: "full_module_async",
        world: "full-module-async",
        shared: &["types", "context", "context-async", "events", "events-async", "log"],
    },
];

/// Everything that our worlds may import, in one world, so that all forms share one set of types, such as `Context`.
const IMPORTS: &str = "
    package pointwork:sdk;
    world imports {
        import pointwork:module/context@0.1.0;
        import pointwork:module/context-async@0.1.0;
        import pointwork:module/events@0.1.0;
        import pointwork:module/events-async@0.1.0;
        import pointwork:module/log@0.1.0;
    }
";

#[test]
fn bindings_match_the_contract() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let update = std::env::var_os("UPDATE_BINDINGS").is_some();
    let mut stale = Vec::new();
    for bindings in BINDINGS {
        let path = root.join("src/bindings").join(bindings.module).with_extension("rs");
        let expected = generate(bindings, &root.join("../../wit"))?;
        if fs::read_to_string(&path).unwrap_or_default() != expected {
            if update {
                fs::write(&path, expected)?;
            } else {
                stale.push(bindings.module);
            }
        }
    }
    assert!(
        stale.is_empty(),
        "stale bindings: {stale:?}; run `UPDATE_BINDINGS=1 cargo test -p pointwork-guest --test bindings`"
    );
    Ok(())
}

fn generate(bindings: &Bindings, wit: &Path) -> Result<String, Box<dyn Error>> {
    let mut resolve = Resolve::default();
    let (contract, _) = resolve.push_dir(wit)?;
    let sdk = resolve.push_str("sdk.wit", IMPORTS)?;
    let package = if bindings.shared.is_empty() { sdk } else { contract };
    let world = resolve.select_world(&[package], Some(bindings.world))?;

    let opts = Opts {
        format: true,
        generate_all: bindings.shared.is_empty(),
        generate_unused_types: true,
        with: bindings
            .shared
            .iter()
            .map(|interface| {
                let module = interface.replace('-', "_");
                let path = format!("crate::bindings::imports::pointwork::module::{module}");
                (format!("pointwork:module/{interface}@0.1.0"), WithOption::Path(path))
            })
            .collect(),
        pub_export_macro: true,
        export_macro_name: Some(format!("export_{}", bindings.module)),
        default_bindings_module: Some(format!("$crate::bindings::{}", bindings.module)),
        disable_custom_section_link_helpers: true,
        ..Opts::default()
    };
    let mut files = Files::default();
    opts.build().generate(&mut resolve, world, &mut files)?;
    let (_, source) = files.iter().next().ok_or("the generator wrote no file")?;
    adapt(bindings, std::str::from_utf8(source)?)
}

/// Makes two changes that allow several worlds in one crate.
fn adapt(bindings: &Bindings, source: &str) -> Result<String, Box<dyn Error>> {
    // Every module would contain the section that describes the imports, so a synchronous module would have
    // asynchronous imports. The export macro has a section of its own, which describes the whole world.
    let section =
        "\n#[rustfmt::skip]\n#[cfg(target_arch = \"wasm32\")]\n#[unsafe(\n    link_section = \"component-type:";
    let (code, _) = source
        .rsplit_once(section)
        .ok_or("no section that describes the imports")?;
    if code.contains(section) {
        return Err("more than one section that describes the imports".into());
    }
    // Exported macros share one namespace in a crate, and several worlds export an interface `routes`.
    Ok(code.replace("__export_pointwork_module_", &format!("__export_{}_", bindings.module)) + "\n")
}
