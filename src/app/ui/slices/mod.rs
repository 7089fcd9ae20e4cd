//! Slices of the image: their settings, drawing and pointer.

pub mod action;
pub mod chips;
pub mod colour_bar;
pub mod comparison;
mod fusion;
mod oblique_line;
pub mod outline;
pub mod overlay;
pub mod pointer;
pub mod profile;
pub mod rotatable_view;
pub mod slice_paint;
pub mod slice_panel;
pub mod slices_view;
pub mod state;
pub mod tool;
pub mod toolbar;
pub mod turned_panel;
pub mod view;
pub mod view_layout;
