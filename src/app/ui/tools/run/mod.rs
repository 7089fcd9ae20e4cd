//! Reconstruction: settings, buttons, and the choice of the displayed iterate and frame.

pub mod recon_panel;
pub mod scrubber;
pub mod slider;
