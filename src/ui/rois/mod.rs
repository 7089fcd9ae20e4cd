//! The regions of interest: the document that is edited, their numbers on the image on the screen, and their panel.

pub mod action;
pub mod document;
pub mod measured;
pub mod roi_panel;
pub mod state;
