//! The window as a whole: what it holds, where its panels are, and what becomes of each wish.

pub mod actions;
pub mod app;
pub mod apply;
pub mod apply_files;
pub mod apply_list;
mod apply_pairs;
mod apply_study;
pub mod apply_tubes;
mod calibrate;
pub mod dialogs;
mod file_jobs;
mod fresh;
pub mod layout;
pub mod leaving;
pub mod nema;
mod picture;
pub mod prefs;
pub mod provenance;
pub mod receive;
mod restore;
pub mod saved_session;
pub mod shortcuts;
pub mod status;
pub mod wake;
