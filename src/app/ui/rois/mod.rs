//! Regions of interest: the edited document, and their numbers in the displayed image.

pub mod action;
pub mod document;
pub mod measured;
pub mod search;
pub mod second_numbers;
pub mod state;
