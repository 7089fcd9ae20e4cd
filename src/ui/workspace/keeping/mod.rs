//! What outlives the window: preferences, saved sessions and the question before leaving.

pub mod fresh;
pub mod prefs;
pub mod restore;
pub mod saved_session;
pub mod unsaved_changes;
