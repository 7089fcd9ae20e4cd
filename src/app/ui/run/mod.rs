//! Run: the form of the next one, live state, images, curves.

pub mod accumulations;
pub mod curves;
pub mod displayed_image;
pub mod export;
pub mod form;
pub mod frames;
pub mod live;
mod on_screen;
pub mod plot_options;
pub mod post_filter;
pub mod reference;
pub mod roi_branches;
pub mod roi_edits;
pub mod run_frames;
pub mod run_view;
pub mod runs;
pub mod similarity;
pub mod stages;
mod thinning;
