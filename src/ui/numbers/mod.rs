//! The numbers below the slices: plots, profile, and what stands beside them.

pub mod activity_plot;
pub mod compare_panel;
pub mod curve_plot;
pub mod plot_options;
pub mod plots;
pub mod profile;
pub mod profile_plot;
pub mod race_panel;
pub mod stage_panel;
pub mod tabs;
pub mod trajectory_plot;
