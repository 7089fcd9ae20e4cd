//! Second image over or under the displayed one: PET over CT or MR.

pub mod line_map;
pub mod oxygen_map;
pub mod run_map;
pub mod second_image;
pub mod spectra;
pub mod state;
