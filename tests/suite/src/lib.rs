pub mod client;
pub mod guest;
pub mod case;
pub mod cases;
pub mod crashes;
pub mod fixtures;
pub mod logs;
pub mod subject;
