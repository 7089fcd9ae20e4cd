//! Regions of interest: the edited document, their numbers in the displayed image, and their panel.

pub mod action;
pub mod document;
pub mod measured;
mod roi_fields;
pub mod roi_panel;
pub mod roi_table;
pub mod roi_view;
pub mod search;
pub mod state;
