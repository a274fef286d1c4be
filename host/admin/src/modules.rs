//! The resource `/modules`.

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, State};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use pointwork::{Change, ChangeKind, ModuleStatus, check_module_name};

use crate::problem::Problem;
use crate::state::{Shared, SharedState};
use crate::upload;

/// The name of a module in a path.
pub(crate) struct Name(String);

impl FromRequestParts<Shared> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, admin: &Shared) -> Result<Self, Problem> {
        let path = parts.uri.path().to_owned();
        match Path::from_request_parts(parts, admin).await {
            Ok(Path(name)) => Ok(Self(name)),
            // The only one: what the path has is not text.
            Err(_) => {
                let message = format!("the name of a module in `{path}` is not text in UTF-8");
                Err(Problem::new(StatusCode::BAD_REQUEST, message))
            }
        }
    }
}

pub(crate) async fn list(State(admin): State<Shared>) -> Json<Vec<ModuleStatus>> {
    Json(admin.app.statuses())
}

pub(crate) async fn show(State(admin): State<Shared>, Name(name): Name) -> Result<Json<ModuleStatus>, Problem> {
    let status = admin.app.statuses().into_iter().find(|status| status.info.name == name);
    status.map(Json).ok_or_else(|| unknown(&admin, &name))
}

pub(crate) async fn put(
    State(admin): State<Shared>,
    Name(name): Name,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Change>), Problem> {
    let options = &admin.options;
    if let Err(error) = check_module_name(&name) {
        upload::discard(&headers, body, options.body_timeout).await;
        let mut problem = Problem::from(error);
        problem.status = StatusCode::BAD_REQUEST;
        return Err(problem);
    }
    let component = upload::receive(&headers, body, options.component_limit, options.body_timeout).await?;
    let is_new = !is_loaded(&admin, &name);
    let mut module = admin.app.module(&name).bytes(component);
    if is_new {
        module = module.options((options.module_options)(&name));
    }
    let change = module.load_or_swap().await.inspect_err(|error| {
        // The application logs a swap that is refused, and leaves the error of a load to its caller.
        if is_new {
            let error = pointwork_core::error_chain(error);
            tracing::warn!(module = name, "a module is refused: {error}");
        }
    })?;
    let status = match change.kind {
        ChangeKind::Loaded => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    Ok((status, Json(change)))
}

pub(crate) async fn remove(State(admin): State<Shared>, Name(name): Name) -> Result<Json<Change>, Problem> {
    let has_failed = admin.app.restore_failures().iter().any(|module| module.module == name);
    if !has_failed {
        expect(&admin, &name)?;
    }
    Ok(Json(admin.app.remove(&name).await?))
}

pub(crate) async fn roll_back(State(admin): State<Shared>, Name(name): Name) -> Result<Json<Change>, Problem> {
    expect(&admin, &name)?;
    Ok(Json(admin.app.roll_back(&name).await?))
}

fn is_loaded(admin: &SharedState, name: &str) -> bool {
    admin.app.modules().iter().any(|info| info.name == name)
}

fn expect(admin: &SharedState, name: &str) -> Result<(), Problem> {
    is_loaded(admin, name).then_some(()).ok_or_else(|| unknown(admin, name))
}

fn unknown(admin: &SharedState, name: &str) -> Problem {
    let modules = admin.app.modules();
    let names: Vec<_> = modules.iter().map(|info| format!("`{}`", info.name)).collect();
    let known = if names.is_empty() {
        "no module is loaded".to_owned()
    } else {
        format!("loaded: {}", names.join(", "))
    };
    Problem::new(StatusCode::NOT_FOUND, format!("there is no module `{name}`; {known}"))
}
