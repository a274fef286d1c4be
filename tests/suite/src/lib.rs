pub mod client;
pub mod guest;
