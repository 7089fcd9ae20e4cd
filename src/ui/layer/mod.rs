//! Second image over or under the displayed one: PET over CT or MR.

pub mod action;
pub mod layer_panel;
pub mod oxygen_map;
pub mod radical_panel;
pub mod second_image;
pub mod state;
