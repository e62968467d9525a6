//! The protocol's data as Rust types, where the engine has to look inside.
//!
//! Definitions and results mostly travel as JSON text; what stands here is what rules are decided by.

mod capability;
mod log_level;
pub mod uri_template;

pub use capability::Capability;
pub use log_level::LogLevel;
