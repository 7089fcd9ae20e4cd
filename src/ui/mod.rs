//! The window: the only user of egui.
//!
//! Every panel is a function that draws a read-only view and pushes actions; the window applies them after drawing.
//! A frame drains the session's events (at most 10 ms), takes the newest volume, sends it to the graphics adapter if it
//! is on the screen, and draws. It sleeps until something wakes it.

mod actions;
mod app;
mod apply;
mod apply_files;
mod curves;
mod devices;
mod dialogs;
mod document;
mod export;
mod fbp_form;
mod fbp_panel;
mod filter_curve;
mod forecast;
mod format;
mod image_axes;
mod layout;
mod leaving;
mod live;
mod loader;
mod measured;
mod modal;
mod notices;
mod numbers;
mod open_study;
mod open_sweep;
mod outline;
mod overlay;
mod plots;
mod post_filter;
mod prefs;
mod profile;
mod provenance;
mod race_panel;
mod recon_panel;
mod roi_panel;
mod scan_files;
mod settings;
mod shown;
mod slice_paint;
mod slices;
mod stage_panel;
mod stages;
mod start;
mod status;
mod study_panel;
mod sweep_facts;
mod sweep_panel;
mod theme;
mod toolbar;
mod view;

pub use app::{App, AppOptions};
pub use curves::{Curves, Series};
pub use document::Document;
pub use live::{LiveRun, RunState};
pub use loader::{BUILT_IN, BuiltIn, Measured, Source};
pub use notices::Notices;
pub use scan_files::{ScanFiles, SweepFiles};
pub use shown::{IterateId, Shown};
pub use start::{StartError, run, wgpu_setup};
pub use view::{Tool, ViewState};
