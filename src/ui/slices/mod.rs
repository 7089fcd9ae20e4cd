//! The slices: what they show, how they are drawn, and what the pointer does in them.

pub mod action;
pub mod beside;
pub mod outline;
pub mod overlay;
pub mod slice_paint;
pub mod slice_panel;
pub mod state;
pub mod tool;
pub mod toolbar;
pub mod view;
