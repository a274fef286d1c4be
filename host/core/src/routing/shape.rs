//! The routes of one shape, and the choice between them by method.

use http::{HeaderValue, Method};
use pointwork_patterns::Pattern;

use super::matcher::NodeId;
use super::method::{ATTRIBUTE_METHODS, MethodFilter};

/// Identifies a [`Shape`] within one [`Table`](super::Table), for the hint of [`resolve`](super::Table::resolve).
/// Passing it to another table is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeId(pub(super) u32);

impl ShapeId {
    /// The shape's index in [`Table::shapes`](super::Table::shapes).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All routes that match the same paths; the names of their parameters may differ. An adapter registers a shape as one
/// native route.
#[derive(Clone, Debug)]
pub struct Shape {
    pub(super) id: ShapeId,
    pub(super) pattern: Pattern,
    /// Indices into the table's routes, in the order of declaration.
    pub(super) routes: Vec<usize>,
    /// Sorted by the text of the method.
    pub(super) by_method: Vec<(Method, usize)>,
    pub(super) all: Option<usize>,
    pub(super) allow: HeaderValue,
    /// The trie nodes from the root to this shape, to check a hint.
    pub(super) nodes: Box<[NodeId]>,
}

/// The route within a shape that answers a method.
pub(super) struct Selected {
    pub(super) route: usize,
    pub(super) head_of_get: bool,
}

impl Shape {
    pub(super) fn new(id: ShapeId, pattern: Pattern, routes: Vec<(usize, &MethodFilter)>) -> Self {
        let mut by_method = Vec::new();
        let mut all = None;
        for (route, filter) in &routes {
            match filter {
                MethodFilter::All => all = Some(*route),
                MethodFilter::Only(method) => by_method.push((method.clone(), *route)),
            }
        }
        by_method.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        let mut shape = Self {
            id,
            pattern,
            routes: routes.into_iter().map(|(route, _)| route).collect(),
            by_method,
            all,
            allow: HeaderValue::from_static("OPTIONS"),
            nodes: Box::default(),
        };
        shape.allow = allow([&shape]);
        shape
    }

    /// Identifies this shape in [`resolve`](super::Table::resolve).
    pub fn id(&self) -> ShapeId {
        self.id
    }

    /// The pattern of the first route. The others differ at most in the names of their parameters.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The routes of this shape, as indices into [`Table::routes`](super::Table::routes), in the order of declaration.
    /// There is at least one.
    pub fn routes(&self) -> &[usize] {
        &self.routes
    }

    /// The methods of the routes, sorted by their text. A route for every method adds none, and GET does not add HEAD.
    pub fn methods(&self) -> impl Iterator<Item = &Method> {
        self.by_method.iter().map(|(method, _)| method)
    }

    /// Whether a route of this shape answers every method (spec A7).
    pub fn takes_every_method(&self) -> bool {
        self.all.is_some()
    }

    fn exact(&self, method: &str) -> Option<usize> {
        let found = self
            .by_method
            .binary_search_by(|(known, _)| known.as_str().cmp(method))
            .ok()?;
        Some(self.by_method[found].1)
    }

    pub(super) fn select(&self, method: &Method) -> Option<Selected> {
        let exactly = |route| Selected {
            route,
            head_of_get: false,
        };
        if let Some(route) = self.exact(method.as_str()) {
            return Some(exactly(route));
        }
        if *method == Method::HEAD
            && let Some(route) = self.exact("GET")
        {
            return Some(Selected {
                route,
                head_of_get: true,
            });
        }
        self.all.map(exactly)
    }
}

/// The value of `Allow` for these shapes together, sorted: every method that one of them declares, HEAD where there is
/// GET, and OPTIONS. A route for every method adds those of [`ATTRIBUTE_METHODS`].
pub(super) fn allow<'s>(shapes: impl IntoIterator<Item = &'s Shape>) -> HeaderValue {
    let mut methods = vec!["OPTIONS"];
    for shape in shapes {
        methods.extend(shape.by_method.iter().map(|(method, _)| method.as_str()));
        if shape.exact("GET").is_some() {
            methods.push("HEAD");
        }
        if shape.all.is_some() {
            methods.extend(ATTRIBUTE_METHODS);
        }
    }
    methods.sort_unstable();
    methods.dedup();
    // A token is always a valid header value, which the types do not express.
    HeaderValue::try_from(methods.join(", ")).unwrap_or(HeaderValue::from_static("OPTIONS"))
}
