//! The study that is open: where it comes from, what it is, and its panel.

pub mod action;
pub mod calibration;
pub mod filter_curve;
pub mod list_form;
pub mod list_panel;
pub mod loader;
pub mod open;
pub mod openable;
pub mod pair_panel;
pub mod state;
pub mod study_panel;
pub mod sweep_facts;
pub mod sweep_panel;
pub mod tube_form;
pub mod tube_tab;
pub mod tubes_panel;
