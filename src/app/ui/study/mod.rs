//! The open study: its source, its data and its panels.

pub mod action;
pub mod calibration;
mod counts_panel;
pub mod file_check;
mod image_panel;
pub mod list_form;
pub mod list_form_panel;
pub mod list_panel;
pub mod loader;
pub mod open;
pub mod pair_panel;
pub mod source;
pub mod state;
pub mod study_panel;
pub mod sweep_facts;
pub mod sweep_panel;
pub mod tube_form;
pub mod tube_form_panel;
pub mod tube_tab;
pub mod tubes_panel;
