//! The route table: compiled once, asked for every request.

use std::collections::HashMap;
use std::ops::ControlFlow;

use http::{HeaderValue, Method, Uri};
use smallvec::SmallVec;

use super::conflict::{Conflict, Conflicts, Party};
use super::matcher::{Trie, capture};
use super::method::MethodFilter;
use super::owner::Owner;
use super::params::{Params, Ranges};
use super::pattern::Pattern;
use super::shape::{Selected, Shape, ShapeId, allow};
use super::target::{BadTarget, Path, Target};

/// One route: what it answers, whose it is, and whatever its user wants to find there.
#[derive(Clone, Debug)]
pub struct Entry<T> {
    /// The methods it answers.
    pub filter: MethodFilter,
    /// The paths it answers, any prefix included.
    pub pattern: Pattern,
    /// Who registered it.
    pub owner: Owner,
    /// What [`Table::resolve`] leads to.
    pub target: T,
}

/// Whether `/a/` is `/a` (spec A8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrailingSlash {
    /// A path with a slash at its end is another path, which no pattern but a `*rest` matches.
    #[default]
    Distinct,
    /// One slash at the end does not count, for matching and for what a `*rest` captures. A doubled one still does.
    Match,
}

/// How a table matches. The default is what the specification says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableOptions {
    /// Whether `/a/` is `/a`.
    pub trailing_slash: TrailingSlash,
}

impl TableOptions {
    /// Sets whether `/a/` is `/a`.
    #[must_use]
    pub fn trailing_slash(mut self, trailing_slash: TrailingSlash) -> Self {
        self.trailing_slash = trailing_slash;
        self
    }
}

/// All routes of an application at one moment. It does not change: a swap compiles another one.
///
/// The rule by which it answers is in the [module docs](super).
#[derive(Debug)]
pub struct Table<T> {
    routes: Vec<Entry<T>>,
    shapes: Vec<Shape>,
    trie: Trie,
    server_allow: HeaderValue,
    options: TableOptions,
}

/// What a table answers to a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum Resolution<'t, T> {
    /// A route answers.
    Matched {
        /// The route.
        entry: &'t Entry<T>,
        /// Its shape.
        shape: ShapeId,
        /// What its parameters captured.
        params: Params,
        /// Whether a GET route answers HEAD: its handler runs, and the body of its reply is not sent.
        head_of_get: bool,
    },
    /// 404: no route matches the path.
    NotFound,
    /// 405: routes match the path, but not with this method.
    MethodNotAllowed {
        /// The value of the `Allow` header.
        allow: HeaderValue,
    },
    /// 204: the table answers OPTIONS itself.
    Options {
        /// The value of the `Allow` header.
        allow: HeaderValue,
    },
    /// 400: the target is no path, or one that cannot be decoded.
    BadRequest(BadTarget),
}

impl<T> Table<T> {
    /// Compiles routes, given in the order of declaration.
    ///
    /// # Errors
    ///
    /// Routes are in conflict: they have the same method, or are both for every method, and the same shape (spec P7).
    /// The error lists each route that repeats an earlier one.
    pub fn compile(entries: Vec<Entry<T>>, options: TableOptions) -> Result<Self, Conflicts> {
        let conflicts = conflicts(&entries);
        if !conflicts.is_empty() {
            return Err(Conflicts::new(conflicts));
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
        Ok(Self {
            routes: entries,
            shapes,
            trie,
            server_allow,
            options,
        })
    }

    /// The routes in the order of declaration (spec D9).
    pub fn routes(&self) -> &[Entry<T>] {
        &self.routes
    }

    /// The shapes in the order of precedence: what an adapter registers with its framework, one native route each. For
    /// a framework that takes the first match, this order is the right one.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// The routes of one shape in the order of declaration, none if the id is of another table.
    pub fn routes_of(&self, shape: ShapeId) -> impl Iterator<Item = &Entry<T>> {
        let routes = self.shapes.get(shape.index()).map_or(&[][..], Shape::routes);
        routes.iter().map(|route| &self.routes[*route])
    }

    /// How the table was compiled.
    pub fn options(&self) -> TableOptions {
        self.options
    }

    /// Finds what answers a request. `uri` is the target as the client sent it, never one that something decoded,
    /// normalised or stripped of a prefix.
    ///
    /// `hint` is the shape that a framework's own router arrived at. It only saves time: the answer is the same for
    /// every hint, a wrong one or one of another table included.
    pub fn resolve(&self, hint: Option<ShapeId>, method: &Method, uri: &Uri) -> Resolution<'_, T> {
        let mut path = match Target::of(method, uri) {
            Ok(Target::Path(path)) => path,
            Ok(Target::Server) => {
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

        // Those that match the path but not the method.
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
            Params::new(entry.pattern.shared_names(), path.into_source(), ranges)
        };
        Resolution::Matched {
            entry,
            shape: shape.id,
            params,
            head_of_get: selected.head_of_get,
        }
    }
}

fn conflicts<T>(entries: &[Entry<T>]) -> Vec<Conflict> {
    let mut first_of: HashMap<(&str, &MethodFilter), &Entry<T>> = HashMap::with_capacity(entries.len());
    let mut conflicts = Vec::new();
    for entry in entries {
        let first = *first_of
            .entry((entry.pattern.canonical(), &entry.filter))
            .or_insert(entry);
        if !std::ptr::eq(first, entry) {
            conflicts.push(Conflict::new(entry.filter.clone(), Party::of(entry), Party::of(first)));
        }
    }
    conflicts
}

#[cfg(test)]
mod tests;
