//! The trie: from a path to the shapes that match it, the most specific one first; and from a shape to the route for a method.

use std::collections::HashMap;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;
use http::{HeaderValue, Method};
use pointwork_patterns::{Pattern, Segment};
use smallvec::SmallVec;

use super::method::{ATTRIBUTE_METHODS, MethodFilter};
use super::path::{Path, Ranges};

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
    pub fn matches_every_method(&self) -> bool {
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

/// Index of a node. The root is 0.
pub(super) type NodeId = u32;

/// A trie over segments. All nodes are in one list, so building, walking and dropping the trie never recurse: an
/// untrusted module decides how deep a pattern is.
#[derive(Debug)]
pub(super) struct Trie {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    literals: HashMap<Box<str>, NodeId, RandomState>,
    param: Option<NodeId>,
    rest: Option<ShapeId>,
    end: Option<ShapeId>,
}

/// An alternative that has not been tried.
enum Pending {
    /// The node, and the position of the next segment if there is one.
    Node(NodeId, Option<usize>),
    Shape(ShapeId),
}

impl Trie {
    pub(super) fn new() -> Self {
        Self {
            nodes: vec![Node::default()],
        }
    }

    /// Adds a shape and returns the nodes on the path to it, one before each segment.
    pub(super) fn insert(&mut self, pattern: &Pattern, shape: ShapeId) -> Box<[NodeId]> {
        let mut node: NodeId = 0;
        let mut way = Vec::with_capacity(pattern.segments().len());
        for segment in pattern.segments() {
            way.push(node);
            let fresh = self.nodes.len() as NodeId;
            let here = &mut self.nodes[node as usize];
            node = match segment {
                Segment::Literal(text) => *here.literals.entry(text.clone()).or_insert(fresh),
                Segment::Param(_) => *here.param.get_or_insert(fresh),
                Segment::Rest(_) => {
                    here.rest = Some(shape);
                    return way.into();
                }
            };
            if node == fresh {
                self.nodes.push(Node::default());
            }
        }
        self.nodes[node as usize].end = Some(shape);
        way.into()
    }

    /// Calls `visit` with each shape that matches the path, in the order of precedence, until it breaks.
    ///
    /// A node represents one way to match the segments before it, so no node is visited twice for one request.
    pub(super) fn walk<B>(&self, path: &Path<'_>, mut visit: impl FnMut(ShapeId) -> ControlFlow<B>) -> ControlFlow<B> {
        let mut pending: SmallVec<[Pending; 8]> = SmallVec::new();
        pending.push(Pending::Node(0, path.start()));
        while let Some(next) = pending.pop() {
            let (node, at) = match next {
                Pending::Shape(shape) => {
                    visit(shape)?;
                    continue;
                }
                Pending::Node(node, at) => (&self.nodes[node as usize], at),
            };
            let Some(at) = at else {
                if let Some(shape) = node.end {
                    visit(shape)?;
                }
                continue;
            };
            // The last alternative pushed is tried first.
            if let Some(shape) = node.rest
                && path.has_rest(at)
            {
                pending.push(Pending::Shape(shape));
            }
            let (segment, rest) = path.segment(at);
            if segment.is_empty() {
                continue;
            }
            if let Some(param) = node.param {
                pending.push(Pending::Node(param, rest));
            }
            if let Some(literal) = node.literals.get(segment) {
                pending.push(Pending::Node(*literal, rest));
            }
        }
        ControlFlow::Continue(())
    }

    /// The values that the shape captures, if the shape matches and no shape with a higher precedence can: at each of
    /// its parameters, no alternative that is tried earlier continues with this path.
    pub(super) fn fit(&self, shape: &Shape, path: &Path<'_>) -> Option<Ranges> {
        let mut ranges = Ranges::new();
        let mut next = path.start();
        for (segment, node) in shape.pattern.segments().iter().zip(&shape.nodes) {
            let at = next?;
            let node = &self.nodes[*node as usize];
            let (text, rest) = path.segment(at);
            match segment {
                Segment::Literal(literal) if **literal == *text => {}
                Segment::Literal(_) => return None,
                Segment::Param(_) => {
                    if text.is_empty() || node.literals.contains_key(text) {
                        return None;
                    }
                    ranges.push(range(at, at + text.len()));
                }
                Segment::Rest(_) => {
                    let earlier = !text.is_empty() && (node.param.is_some() || node.literals.contains_key(text));
                    if earlier || !path.has_rest(at) {
                        return None;
                    }
                    ranges.push(range(at, path.end()));
                    return Some(ranges);
                }
            }
            next = rest;
        }
        next.is_none().then_some(ranges)
    }
}

/// The values that a matching pattern captures from the path.
pub(super) fn capture(pattern: &Pattern, path: &Path<'_>) -> Ranges {
    let mut ranges = Ranges::new();
    let mut next = path.start();
    for segment in pattern.segments() {
        let Some(at) = next else { break };
        let (text, rest) = path.segment(at);
        match segment {
            Segment::Literal(_) => {}
            Segment::Param(_) => ranges.push(range(at, at + text.len())),
            Segment::Rest(_) => ranges.push(range(at, path.end())),
        }
        next = rest;
    }
    ranges
}

/// The casts are lossless: `http` limits a path to 65,534 bytes, and decoding only shortens it.
fn range(start: usize, end: usize) -> (u32, u32) {
    (start as u32, end as u32)
}
