use std::cell::RefCell;
use std::fmt;

use super::answer::Answer;
use super::request::TestRequest;
use crate::controller::Controller;

/// Runs a request by the controller that has a route for it; gives it back otherwise.
type Run = fn(TestRequest) -> Result<Answer, Box<TestRequest>>;

/// Requests of one client to several controllers, one after the other: cookies that a reply sets are sent with the next
/// request.
///
/// Each request has listeners of its own; a function of the test that adds them serves all. A listener that keeps what it
/// gets, in an `Rc<RefCell<…>>`, is the store of a flow.
///
/// ```
/// use std::cell::RefCell;
/// use std::rc::Rc;
///
/// use pointwork_guest::testing::{TestFlow, TestRequest};
/// use pointwork_guest::{Context, Created, Failure, Json, controller, events};
///
/// events! {
///     pub Add = "db:add": String => usize;
///     pub Count = "db:count": () => usize;
/// }
///
/// struct Bookings;
///
/// #[controller("bookings")]
/// impl Bookings {
///     #[post]
///     fn create(ctx: &Context, room: Json<String>) -> Result<Created<Json<usize>>, Failure> {
///         let id = ctx.call::<Add>(room.0)?;
///         Ok(Created(format!("/bookings/{id}"), Json(id)))
///     }
/// }
///
/// struct Figures;
///
/// #[controller("figures")]
/// impl Figures {
///     #[get]
///     fn show(ctx: &Context) -> Result<Json<usize>, Failure> {
///         ctx.call::<Count>(()).map(Json)
///     }
/// }
///
/// let rooms = Rc::new(RefCell::new(Vec::new()));
/// let with_rooms = |request: TestRequest| {
///     let (add, count) = (Rc::clone(&rooms), Rc::clone(&rooms));
///     request
///         .try_on::<Add>(move |room| match room.as_str() {
///             "" => Err(Failure::new(409_u16, "no such room")),
///             _ => {
///                 add.borrow_mut().push(room);
///                 Ok(add.borrow().len())
///             }
///         })
///         .on::<Count>(move |()| count.borrow().len())
/// };
///
/// let flow = TestFlow::new().controller::<Bookings>().controller::<Figures>();
/// let booked = flow.run(with_rooms(TestRequest::post("/bookings").json("attic")));
/// assert_eq!(booked.header("location").as_deref(), Some("/bookings/1"));
/// assert_eq!(flow.run(with_rooms(TestRequest::post("/bookings").json(""))).status(), 409);
/// assert_eq!(flow.run(with_rooms(TestRequest::get("/figures"))).text(), "1");
/// ```
#[derive(Default)]
pub struct TestFlow {
    controllers: Vec<(&'static str, Run)>,
    cookies: RefCell<Vec<(String, String)>>,
}

impl TestFlow {
    /// A client without cookies, and no controller.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a controller. If two have a route for a request, the first answers.
    #[must_use]
    pub fn controller<C: Controller>(mut self) -> Self {
        self.controllers.push((C::NAME, |request| {
            request.try_run::<C>().map_err(|(request, _)| request)
        }));
        self
    }

    /// Sends a request, and keeps the cookies that its reply sets. A cookie that the reply removes is forgotten; their other
    /// attributes are ignored.
    ///
    /// # Panics
    ///
    /// No controller has a route for the request.
    #[track_caller]
    pub fn run(&self, request: TestRequest) -> Answer {
        let cookies = self.cookies.borrow().clone();
        let mut left = cookies
            .into_iter()
            .fold(request, |request, (name, value)| request.cookie(&name, &value));
        for (_, run) in &self.controllers {
            match run(left) {
                Ok(answer) => {
                    self.keep(&answer);
                    return answer;
                }
                Err(request) => left = *request,
            }
        }
        let names: Vec<_> = self.controllers.iter().map(|(name, _)| *name).collect();
        panic!(
            "no controller of the test has a route for {left:?}, expected one of {}",
            names.join(", ")
        )
    }

    fn keep(&self, answer: &Answer) {
        let mut kept = self.cookies.borrow_mut();
        for (name, value, is_removed) in answer.set_cookies() {
            kept.retain(|(other, _)| *other != name);
            if !is_removed {
                kept.push((name, value));
            }
        }
    }
}

impl fmt::Debug for TestFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.controllers.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}
