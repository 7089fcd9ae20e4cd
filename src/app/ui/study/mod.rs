//! The open study: its source and its data.

pub mod calibration;
mod counts_facts;
pub mod file_check;
mod image_facts;
mod list_facts;
pub mod list_form;
pub mod loader;
pub mod open;
mod pair_facts;
pub mod source;
pub mod state;
mod sweep_facts;
pub mod tube_form;
