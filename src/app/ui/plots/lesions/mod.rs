//! Lesions of the displayed image: measurement in the background, and the tab.

pub mod action;
pub mod lesion_panel;
pub mod saved;
pub mod state;
