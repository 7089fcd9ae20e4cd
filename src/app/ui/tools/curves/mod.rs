//! Plots of the curves, and the plot of the line profile.

pub mod curve_plot;
pub mod plot_area;
pub mod plots_view;
mod profile_plot;
pub mod profile_tool;
mod trajectory_plot;
