//! State beyond the window and the study: preferences, sessions, unsaved work.

pub mod fresh;
pub mod last_session;
pub mod prefs;
pub mod restore;
pub mod saved_session;
pub mod sessions;
pub mod unsaved_changes;
pub mod unsaved_work;
