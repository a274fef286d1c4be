//! The table in the framework's own terms: one resource with its guards for every shape.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use actix_router::{Path, ResourceDef};
use actix_web::dev::ServiceRequest;
use actix_web::guard::{Guard, GuardContext};
use pointwork_core::Router;
use pointwork_core::routing::{Segment, Shape, ShapeId};

/// A router beside what actix-web would have registered for it.
///
/// An `App` cannot change once it runs, and finds its routes one after the other. So the resources stand here, each to
/// be asked alone: the core says which, and the resource and its guards take the request or decline it.
pub(crate) struct Table {
    pub(crate) router: Arc<Router>,
    /// By [`ShapeId::index`]; `None` for what a resource of actix-web cannot say.
    entries: Vec<Option<Entry>>,
}

struct Entry {
    resource: Arc<ResourceDef>,
    methods: MethodGuard,
}

/// Takes the methods of the routes of one shape.
struct MethodGuard {
    any: bool,
    listed: Vec<actix_web::http::Method>,
}

/// The resources of the table staged last, by pattern.
///
/// Building one compiles a regular expression, and leaks the names of its parameters, as actix-web expects that nobody
/// builds one twice. A table that changes in one route builds one.
#[derive(Default)]
pub(crate) struct Resources(Mutex<HashMap<String, Arc<ResourceDef>>>);

/// actix-web panics beyond it.
const MAX_PARAMS: usize = 16;

impl Table {
    pub(crate) fn new(router: Arc<Router>, resources: &Resources) -> Self {
        let entries = resources.entries(router.shapes());
        Self { router, entries }
    }

    /// The shape of the resource that takes this request, for [`Router::respond`]. Its parameters are then in the
    /// request's `match_info`, unless a scope around us already took a part of the path.
    pub(crate) fn recognize(
        &self,
        method: &http::Method,
        uri: &http::Uri,
        request: &mut ServiceRequest,
    ) -> Option<ShapeId> {
        let id = self.router.locate(method, uri)?;
        let entry = self.entries.get(id.index())?.as_ref()?;
        entry.takes(request).then_some(id)
    }
}

impl Entry {
    fn takes(&self, request: &mut ServiceRequest) -> bool {
        if !self.methods.check(&request.guard_ctx()) {
            return false;
        }
        let path = request.match_info();
        if path.unprocessed().len() == path.as_str().len() {
            self.resource.capture_match_info(request)
        } else {
            self.resource.capture_match_info(&mut Path::new(path.as_str()))
        }
    }
}

impl Guard for MethodGuard {
    fn check(&self, context: &GuardContext<'_>) -> bool {
        self.any || self.listed.contains(&context.head().method)
    }
}

impl MethodGuard {
    fn new(shape: &Shape) -> Self {
        let convert = |method: &http::Method| actix_web::http::Method::from_bytes(method.as_str().as_bytes()).ok();
        let mut listed: Vec<_> = shape.methods().filter_map(convert).collect();
        // The core answers HEAD by GET.
        if listed.contains(&actix_web::http::Method::GET) {
            listed.push(actix_web::http::Method::HEAD);
        }
        Self {
            any: shape.takes_every_method(),
            listed,
        }
    }
}

impl Resources {
    fn entries(&self, shapes: &[Shape]) -> Vec<Option<Entry>> {
        // Nothing panics while it holds the lock.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = HashMap::with_capacity(shapes.len());
        let entries = shapes.iter().map(|shape| {
            let pattern = pattern(shape.pattern().segments())?;
            let resource = known
                .remove(&pattern)
                .or_else(|| kept.get(&pattern).cloned())
                .unwrap_or_else(|| Arc::new(ResourceDef::new(pattern.as_str())));
            kept.insert(pattern, resource.clone());
            Some(Entry {
                resource,
                methods: MethodGuard::new(shape),
            })
        });
        let entries = entries.collect();
        *known = kept;
        entries
    }
}

/// A pattern in the syntax of actix-web, with the canonical names of parameters; `None` if it has none.
fn pattern(segments: &[Segment]) -> Option<String> {
    let mut text = String::new();
    let mut params = 0;
    for segment in segments {
        text.push('/');
        match segment {
            // Braces and a star at the end have a meaning of their own, and cannot be escaped; a slash would part it.
            Segment::Literal(literal) if literal.contains(['{', '}', '*', '/']) => return None,
            Segment::Literal(literal) => text.push_str(literal),
            Segment::Param(_) => {
                params += 1;
                text.push_str(&format!("{{p{params}}}"));
            }
            Segment::Rest(_) => {
                params += 1;
                text.push_str(&format!("{{p{params}:.+}}"));
            }
            _ => return None,
        }
    }
    if text.is_empty() {
        text.push('/');
    }
    (params <= MAX_PARAMS).then_some(text)
}

#[cfg(test)]
mod tests;
