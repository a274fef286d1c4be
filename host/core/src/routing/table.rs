//! The route table: compiled once, looked up for every request.

use std::collections::HashMap;
use std::ops::ControlFlow;

use http::{HeaderValue, Method, Uri};
use pointwork_patterns::Pattern;
use serde::Deserialize;
use smallvec::SmallVec;

use super::conflict::{Conflict, Conflicts, Party};
use super::matcher::{Selected, Shape, ShapeId, Trie, allow, capture};
use super::method::MethodFilter;
use super::owner::Owner;
use super::path::{BadTarget, Names, Params, Path, Ranges, RequestTarget};
use crate::Sharded;

/// One route: the requests that it answers, its owner, and a value for the user of the table.
#[derive(Clone, Debug)]
pub struct RouteEntry<T> {
    /// The methods that the route answers.
    pub filter: MethodFilter,
    /// The paths that the route answers, any prefix included.
    pub pattern: Pattern,
    /// The owner of the route.
    pub owner: Owner,
    /// The value that [`Table::resolve`] finds.
    pub target: T,
}

/// Whether `/a/` and `/a` are the same path (spec A8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrailingSlash {
    /// They are two paths, and only a `*rest` matches the one with a slash at its end.
    #[default]
    Distinct,
    /// One slash at the end is ignored, for matching and for what a `*rest` captures. A doubled one is not.
    Match,
}

/// How a table matches. The default follows the specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableOptions {
    /// Whether `/a/` and `/a` are the same path.
    pub trailing_slash: TrailingSlash,
}

impl TableOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether `/a/` and `/a` are the same path.
    #[must_use]
    pub fn trailing_slash(mut self, trailing_slash: TrailingSlash) -> Self {
        self.trailing_slash = trailing_slash;
        self
    }
}

/// All routes of an application at one moment. A table never changes: a swap compiles a new one.
///
/// The [module docs](super) describe how it finds the route of a request.
#[derive(Debug)]
pub struct Table<T> {
    routes: Vec<RouteEntry<T>>,
    /// The names of the parameters of each route; requests share them.
    names: Vec<Sharded<Names>>,
    shapes: Vec<Shape>,
    trie: Trie,
    server_allow: HeaderValue,
    options: TableOptions,
}

/// The result of looking up a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum Resolution<'t, T> {
    /// A route answers.
    Matched {
        /// The route.
        entry: &'t RouteEntry<T>,
        /// Its place in [`Table::routes`].
        route: usize,
        /// Its shape.
        shape: ShapeId,
        /// The values of its parameters.
        params: Params,
        /// Whether a GET route answers a HEAD request: its handler runs, and the body of its reply is not sent.
        head_of_get: bool,
    },
    /// 404: no route matches the path.
    NotFound,
    /// 405: routes match the path, but none has this method.
    MethodNotAllowed {
        /// The value of the `Allow` header.
        allow: HeaderValue,
    },
    /// 204: the table answers OPTIONS itself.
    Options {
        /// The value of the `Allow` header.
        allow: HeaderValue,
    },
    /// 400: the target is not a path, or it cannot be decoded.
    BadRequest(BadTarget),
}

impl<T> Table<T> {
    /// Compiles routes, given in the order of declaration.
    ///
    /// # Errors
    ///
    /// Routes conflict: they have the same shape and the same method, or the same shape and both every method (spec
    /// P7). The error lists each route that repeats an earlier one.
    pub fn compile(entries: Vec<RouteEntry<T>>, options: TableOptions) -> Result<Self, Conflicts> {
        let list = conflicts(&entries);
        if !list.is_empty() {
            return Err(Conflicts { list });
        }

        let mut order: Vec<usize> = (0..entries.len()).collect();
        // Stable, so that the routes of one shape stay in the order of declaration.
        order.sort_by(|one, other| entries[*one].pattern.cmp_precedence(&entries[*other].pattern));
        let mut trie = Trie::new();
        let mut shapes: Vec<Shape> = Vec::new();
        for group in
            order.chunk_by(|one, other| entries[*one].pattern.canonical() == entries[*other].pattern.canonical())
        {
            let id = ShapeId(shapes.len() as u32);
            let pattern = entries[group[0]].pattern.clone();
            let routes = group.iter().map(|route| (*route, &entries[*route].filter)).collect();
            let nodes = trie.insert(&pattern, id);
            shapes.push(Shape {
                nodes,
                ..Shape::new(id, pattern, routes)
            });
        }
        let server_allow = allow(&shapes);
        let names = entries.iter().map(|entry| entry.pattern.shared_names().clone());
        Ok(Self {
            names: names.map(Sharded::of).collect(),
            routes: entries,
            shapes,
            trie,
            server_allow,
            options,
        })
    }

    /// The routes in the order of declaration (spec D9).
    pub fn routes(&self) -> &[RouteEntry<T>] {
        &self.routes
    }

    /// The shapes in the order of precedence. An adapter registers each as one native route of its framework; this is
    /// the right order for a framework that takes the first match.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// The options that the table was compiled with.
    pub fn options(&self) -> TableOptions {
        self.options
    }

    /// Finds the route of a request. `uri` is the target as the client sent it: not decoded, not normalised, with any
    /// prefix.
    ///
    /// `hint` is the shape that a framework's own router found. It only saves time: the result is the same for every
    /// hint, even a wrong one or one of another table.
    pub fn resolve(&self, hint: Option<ShapeId>, method: &Method, uri: &Uri) -> Resolution<'_, T> {
        let mut path = match RequestTarget::parse(method, uri) {
            Ok(RequestTarget::Path(path)) => path,
            Ok(RequestTarget::Server) => {
                return Resolution::Options {
                    allow: self.server_allow.clone(),
                };
            }
            Err(bad) => return Resolution::BadRequest(bad),
        };
        if self.options.trailing_slash == TrailingSlash::Match {
            path.ignore_trailing_slash();
        }

        if let Some(shape) = hint.and_then(|hint| self.shapes.get(hint.index()))
            && path.is_raw()
            && let Some(ranges) = self.trie.fit(shape, &path)
            && let Some(selected) = shape.select(method)
        {
            return self.matched(shape, selected, path, ranges);
        }

        // The shapes that match the path but not the method.
        let mut passed: SmallVec<[ShapeId; 4]> = SmallVec::new();
        let found = self.trie.walk(&path, |id| {
            let shape = &self.shapes[id.index()];
            match shape.select(method) {
                Some(selected) => ControlFlow::Break((shape, selected)),
                None => {
                    passed.push(id);
                    ControlFlow::Continue(())
                }
            }
        });
        if let ControlFlow::Break((shape, selected)) = found {
            let ranges = capture(&shape.pattern, &path);
            return self.matched(shape, selected, path, ranges);
        }
        let allow = match passed.as_slice() {
            [] => return Resolution::NotFound,
            [only] => self.shapes[only.index()].allow.clone(),
            several => allow(several.iter().map(|id| &self.shapes[id.index()])),
        };
        if *method == Method::OPTIONS {
            Resolution::Options { allow }
        } else {
            Resolution::MethodNotAllowed { allow }
        }
    }

    fn matched(&self, shape: &Shape, selected: Selected, path: Path<'_>, ranges: Ranges) -> Resolution<'_, T> {
        let entry = &self.routes[selected.route];
        let params = if ranges.is_empty() {
            Params::default()
        } else {
            let names = self.names[selected.route].local().clone();
            Params::new(names, path.into_source(), ranges)
        };
        Resolution::Matched {
            entry,
            route: selected.route,
            shape: shape.id,
            params,
            head_of_get: selected.head_of_get,
        }
    }
}

fn conflicts<T>(entries: &[RouteEntry<T>]) -> Vec<Conflict> {
    let mut first_of: HashMap<(&str, &MethodFilter), &RouteEntry<T>> = HashMap::with_capacity(entries.len());
    let mut conflicts = Vec::new();
    for entry in entries {
        let first = *first_of
            .entry((entry.pattern.canonical(), &entry.filter))
            .or_insert(entry);
        if !std::ptr::eq(first, entry) {
            conflicts.push(Conflict {
                filter: entry.filter.clone(),
                later: Party::of(entry),
                earlier: Party::of(first),
            });
        }
    }
    conflicts
}

#[cfg(test)]
mod tests;
