//! The channels: who has which token, and the pictures, which are files in a directory that is granted.

use booking_events::{KeepPicture, PictureById, UserOf};
use pointwork_guest::{Failure, HttpStatus, Payload, Variables, channel, module};
use uuid::Uuid;

#[derive(Variables)]
struct Settings {
    tokens: String,
}

struct Accounts;

#[channel("accounts")]
impl Accounts {
    #[on(UserOf)]
    fn user_of(token: String) -> Result<Option<String>, Failure> {
        let tokens = Settings::read()?.tokens;
        let mut users = tokens.split(' ').filter_map(|user| user.split_once('='));
        Ok(users
            .find(|(_, known)| *known == token)
            .map(|(user, _)| user.to_owned()))
    }
}

struct Pictures;

#[channel("pictures")]
impl Pictures {
    #[on(KeepPicture)]
    fn keep(picture: Payload) -> Result<Uuid, Failure> {
        let id = Uuid::new_v4();
        std::fs::write(format!("/data/{id}"), picture.data())
            .map_err(|error| Failure::new(HttpStatus::INTERNAL_SERVER_ERROR, error.to_string()))?;
        Ok(id)
    }

    #[on(PictureById)]
    fn by_id(id: Uuid) -> Result<Payload, Failure> {
        let data = std::fs::read(format!("/data/{id}")).map_err(|_| HttpStatus::NOT_FOUND)?;
        Ok(Payload::new("image/png", data))
    }
}

module! { channels: Accounts, Pictures; variables: Settings }

#[test]
fn token_belongs_to_a_user() {
    let event = pointwork_guest::testing::TestEvent::new::<UserOf>("mate".to_owned());
    let reaction = event.variable("TOKENS", "ada=tea bob=mate").run::<Accounts>();
    assert_eq!(reaction.output::<UserOf>().as_deref(), Some("bob"));
}
