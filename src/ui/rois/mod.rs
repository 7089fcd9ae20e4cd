//! The regions of interest: the document that is edited, their numbers on the image on the screen, and their panel.

pub mod action;
pub mod document;
pub mod measured;
mod roi_fields;
pub mod roi_panel;
mod roi_table;
pub mod state;
