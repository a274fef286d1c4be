//! The composition of a component with the one that answers WASI 0.2.

use std::collections::BTreeMap;

use wasm_compose::graph::{Component, CompositionGraph, EncodeOptions, ExportIndex, ImportIndex};
use wasmparser::component_types::{ComponentAnyTypeId, ComponentEntityType, ResourceId};
use wasmparser::{Validator, WasmFeatures};

use crate::COMPONENT;
use crate::error::{Error, ErrorKind};

/// Composes a component that imports WASI 0.2, of whatever release, with [`COMPONENT`](crate::COMPONENT), which answers those
/// imports by the contract.
///
/// `is_granted` gets the name of each import, such as `wasi:filesystem/types@0.2.9`, and says whether the import stays, for the host to
/// answer. An interface stays as well if it shares a resource with an import that stays: a host that makes the streams of a directory
/// has to make the standard output too. An interface that [`COMPONENT`](crate::COMPONENT) does not have also stays.
///
/// ```
/// # fn build(component: &[u8]) -> Result<(), pointwork_wasi::Error> {
/// use pointwork_wasi::compose;
///
/// let controllers = compose(component, |_| false)?;
/// let channel_with_a_directory = compose(component, |import| import.starts_with("wasi:filesystem/"))?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`NotAComponent`](ErrorKind::NotAComponent), [`Interface`](ErrorKind::Interface) and [`Compose`](ErrorKind::Compose).
pub fn compose(component: &[u8], is_granted: impl Fn(&str) -> bool) -> Result<Vec<u8>, Error> {
    // One validator for all: it numbers the types that are compared.
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut read = |name, bytes| Component::from_bytes(&mut validator, name, bytes);
    let not_a_component = |error| Error::new(ErrorKind::NotAComponent, "the bytes are no valid component", error);
    let guest = read("guest", component).map_err(not_a_component)?;
    let wasi = read("wasi", COMPONENT).map_err(not_a_component)?;
    let answers = answers(&guest, &wasi, is_granted);
    if answers.is_empty() {
        return Ok(component.to_owned());
    }
    let names: BTreeMap<_, _> = guest
        .imports()
        .map(|(index, name, _)| (index, name.to_owned()))
        .collect();

    let cannot = |error| Error::new(ErrorKind::Compose, "the component cannot be composed with WASI", error);
    let mut graph = CompositionGraph::new();
    let mut instantiate = |component| graph.add_component(component).and_then(|id| graph.instantiate(id));
    let wasi = instantiate(wasi).map_err(cannot)?;
    let guest = instantiate(guest).map_err(cannot)?;
    for (import, export) in answers {
        graph.connect(wasi, Some(export), guest, import).map_err(|error| {
            let message = format!(
                "the component imports a function or a type of `{}` that this release of Pointwork does not have",
                names[&import]
            );
            Error::new(ErrorKind::Interface, message, error)
        })?;
    }
    let composed = graph.encode(EncodeOptions {
        define_components: true,
        export: Some(guest),
        // It knows fewer features, and reads the code as well.
        validate: false,
    });
    let composed = composed.map_err(cannot)?;
    read("composed", &composed).map_err(cannot)?;
    Ok(composed)
}

/// The imports of the guest that the component of this crate answers, each with the export that does. Imports that share a
/// resource are answered together or not at all.
fn answers(
    guest: &Component<'_>,
    wasi: &Component<'_>,
    is_granted: impl Fn(&str) -> bool,
) -> Vec<(ImportIndex, ExportIndex)> {
    let exports: BTreeMap<_, _> = wasi
        .exports()
        .filter_map(|(index, name, ..)| Some((interface(name)?, index)))
        .collect();
    let mut answers = Vec::new();
    let mut staying: Vec<ResourceId> = Vec::new();
    for (index, name, _) in guest.imports() {
        let export = interface(name).and_then(|interface| exports.get(interface));
        match export {
            Some(&export) if !is_granted(name) => answers.push((index, name, export)),
            _ => staying.extend(resources(guest, name)),
        }
    }
    loop {
        let is_shared = |name: &str| resources(guest, name).iter().any(|resource| staying.contains(resource));
        let (shared, rest): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(_, name, _)| is_shared(name));
        if shared.is_empty() {
            return rest.into_iter().map(|(import, _, export)| (import, export)).collect();
        }
        staying.extend(shared.iter().flat_map(|(_, name, _)| resources(guest, name)));
        answers = rest;
    }
}

/// The name of an interface of WASI 0.2 without its version: a component of one 0.2 fits any other.
fn interface(name: &str) -> Option<&str> {
    let (interface, version) = name.split_once('@')?;
    (interface.starts_with("wasi:") && version.starts_with("0.2.")).then_some(interface)
}

/// The resources of an imported interface, its own ones and those that it uses.
fn resources(component: &Component<'_>, import: &str) -> Vec<ResourceId> {
    let types = component.types();
    let item = types.component_item_for_import(import).map(|item| item.ty);
    let Some(ComponentEntityType::Instance(id)) = item else {
        return Vec::new();
    };
    let exports = types[id].exports.values();
    let resources = exports.filter_map(|export| match export.ty {
        ComponentEntityType::Type {
            referenced: ComponentAnyTypeId::Resource(resource),
            ..
        } => Some(resource.resource()),
        _ => None,
    });
    resources.collect()
}
