//! The routes that a module declares, and their validation.

mod error;

use std::sync::Arc;

pub use error::{DeclarationError, DeclarationErrorKind, DeclarationErrors};
use pointwork_patterns::Pattern;
use pointwork_patterns::text::is_unprintable;

use super::method::MethodFilter;
use super::owner::Owner;

/// The maximum number of routes of a module. Each path of a list is a route.
pub const MAX_ROUTES: usize = 10_000;

/// The maximum size of the full path of one route, in bytes.
pub const MAX_PATTERN_BYTES: usize = 4 * 1024;

/// The maximum size of the full paths of all routes of a module together, in bytes: 1 MiB. It bounds the memory of the
/// table, which grows with the segments.
pub const MAX_TOTAL_PATTERN_BYTES: usize = 1024 * 1024;

/// The maximum size of a method, or of the name of a controller or handler, in bytes.
pub const MAX_NAME_BYTES: usize = 255;

/// A controller as a module declares it, not validated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerDeclaration {
    /// The controller's name in the source.
    pub name: String,
    /// The path prefix of the routes; `/` or the empty text for none (spec D1).
    pub prefix: String,
    /// The routes, in the order of declaration.
    pub routes: Vec<RouteDeclaration>,
}

/// One route of a handler, as a module declares it, not validated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteDeclaration {
    /// The number of the handler within the module.
    pub handler: u32,
    /// The handler's name in the source.
    pub name: String,
    /// The method, or `None` for every method.
    pub method: Option<String>,
    /// The paths, each a route of its own (spec D3). An empty list is the prefix itself.
    pub paths: Vec<String>,
}

/// One route of a module that passed [`validate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredRoute {
    /// The controller's name.
    pub controller: Arc<str>,
    /// The handler's name.
    pub handler_name: Arc<str>,
    /// The number of the handler within the module.
    pub handler: u32,
    /// The methods that the route answers.
    pub filter: MethodFilter,
    /// The controller's prefix joined with one path.
    pub pattern: Pattern,
}

impl DeclaredRoute {
    /// The owner of the route in a table.
    pub fn owner(&self, module: impl Into<Arc<str>>) -> Owner {
        Owner::module(module, Arc::clone(&self.controller), Arc::clone(&self.handler_name))
    }
}

/// Validates the declarations of one module and turns them into routes: controllers in the module's order, routes in
/// the order of declaration, paths in the order of their list (spec D3, D9). The same input gives the same routes.
///
/// Conflicts are found later, by [`Table::compile`](super::Table::compile), together with the routes of other modules.
///
/// # Errors
///
/// All errors at once: a method that is not a token (spec D10), an invalid prefix or path, a name that is empty or
/// contains an unprintable character, and everything over [`MAX_ROUTES`], [`MAX_PATTERN_BYTES`], [`MAX_TOTAL_PATTERN_BYTES`]
/// or [`MAX_NAME_BYTES`]. Each error names module, controller, handler and the text.
///
/// ```
/// use pointwork_core::routing::{ControllerDeclaration, RouteDeclaration, validate};
///
/// let mut controller = ControllerDeclaration {
///     name: "products".into(),
///     prefix: "products".into(),
///     routes: vec![RouteDeclaration {
///         handler: 0,
///         name: "show".into(),
///         method: Some("GET".into()),
///         paths: vec![":id".into(), "by-id/:id".into()],
///     }],
/// };
/// let routes = validate("shop", &[controller.clone()]).unwrap();
/// assert_eq!(routes.iter().map(|route| route.pattern.as_str()).collect::<Vec<_>>(), [
///     "/products/:id",
///     "/products/by-id/:id",
/// ]);
///
/// controller.routes[0].method = Some("GET IT".into());
/// assert!(
///     validate("shop", &[controller])
///         .unwrap_err()
///         .to_string()
///         .starts_with("handler `show` of controller `products` of module `shop`: method `GET IT` is not an HTTP token")
/// );
/// ```
pub fn validate(module: &str, controllers: &[ControllerDeclaration]) -> Result<Vec<DeclaredRoute>, DeclarationErrors> {
    let mut check = Check {
        module,
        routes: Vec::new(),
        pattern_bytes: 0,
        errors: Vec::new(),
    };
    let declared = controllers
        .iter()
        .flat_map(|controller| &controller.routes)
        .map(|route| route.paths.len().max(1));
    let count = declared.fold(0, usize::saturating_add);
    if count > MAX_ROUTES {
        check.refuse(None, None, DeclarationErrorKind::TooManyRoutes { count });
        return Err(DeclarationErrors { list: check.errors });
    }
    for controller in controllers {
        check.controller(controller);
    }
    if check.pattern_bytes > MAX_TOTAL_PATTERN_BYTES {
        let bytes = check.pattern_bytes;
        check.refuse(None, None, DeclarationErrorKind::TooMuchPatternText { bytes });
    }
    if check.errors.is_empty() {
        Ok(check.routes)
    } else {
        Err(DeclarationErrors { list: check.errors })
    }
}

struct Check<'a> {
    module: &'a str,
    routes: Vec<DeclaredRoute>,
    pattern_bytes: usize,
    errors: Vec<DeclarationError>,
}

impl Check<'_> {
    fn refuse(&mut self, controller: Option<&str>, handler: Option<&str>, kind: DeclarationErrorKind) {
        self.errors
            .push(DeclarationError::new(self.module, controller, handler, kind));
    }

    /// The value of a result; an error is refused.
    fn accept<T>(
        &mut self,
        controller: &str,
        handler: Option<&str>,
        result: Result<T, DeclarationErrorKind>,
    ) -> Option<T> {
        result.map_err(|kind| self.refuse(Some(controller), handler, kind)).ok()
    }

    fn controller(&mut self, controller: &ControllerDeclaration) {
        let name = controller.name.as_str();
        self.accept(name, None, check_name(name));
        // An invalid prefix is one error of the controller, not one for each of its paths.
        let prefix = self.accept(name, None, read(&controller.prefix, ""));
        let prefix = prefix.map(|_| controller.prefix.as_str());
        let shared_name: Arc<str> = name.into();
        for route in &controller.routes {
            self.route(&shared_name, prefix, route);
        }
    }

    fn route(&mut self, controller: &Arc<str>, prefix: Option<&str>, route: &RouteDeclaration) {
        let handler = route.name.as_str();
        self.accept(controller, Some(handler), check_name(handler));
        let filter = self.accept(controller, Some(handler), read_method(route.method.as_deref()));
        let handler_name: Arc<str> = handler.into();
        let itself = route.paths.is_empty().then_some("");
        for path in route.paths.iter().map(String::as_str).chain(itself) {
            let pattern = read(prefix.unwrap_or_default(), path);
            let Some(pattern) = self.accept(controller, Some(handler), pattern) else {
                continue;
            };
            self.pattern_bytes += pattern.as_str().len();
            if let (Some(filter), true) = (&filter, self.pattern_bytes <= MAX_TOTAL_PATTERN_BYTES) {
                self.routes.push(DeclaredRoute {
                    controller: Arc::clone(controller),
                    handler_name: Arc::clone(&handler_name),
                    handler: route.handler,
                    filter: filter.clone(),
                    pattern,
                });
            }
        }
    }
}

fn read(prefix: &str, path: &str) -> Result<Pattern, DeclarationErrorKind> {
    let bytes = prefix.len().saturating_add(path.len());
    if bytes > MAX_PATTERN_BYTES {
        let text = if prefix.len() > path.len() { prefix } else { path };
        return Err(DeclarationErrorKind::PatternTooLong {
            text: text.to_owned(),
            bytes,
        });
    }
    Pattern::join(prefix, path).map_err(DeclarationErrorKind::Pattern)
}

fn read_method(text: Option<&str>) -> Result<MethodFilter, DeclarationErrorKind> {
    match text {
        Some(text) if text.len() > MAX_NAME_BYTES => Err(DeclarationErrorKind::MethodTooLong { text: text.to_owned() }),
        _ => MethodFilter::parse(text).map_err(DeclarationErrorKind::Method),
    }
}

fn check_name(name: &str) -> Result<(), DeclarationErrorKind> {
    if name.is_empty() {
        return Err(DeclarationErrorKind::EmptyName);
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(DeclarationErrorKind::NameTooLong { bytes: name.len() });
    }
    match name.char_indices().find(|(_, character)| is_unprintable(*character)) {
        Some((position, found)) => Err(DeclarationErrorKind::NameCharacter { position, found }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
