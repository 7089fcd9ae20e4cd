//! Commands by name and by keys.

pub mod list;
pub mod search_panel;
pub mod shortcuts;
