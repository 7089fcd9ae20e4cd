//! The window: the only user of egui.
//!
//! A frame drains the session's events (at most 10 ms), takes the newest volume, sends it to the graphics adapter if it is displayed,
//! updates the tools, and draws. A tool draws the workspace and requests changes of it, which follow the drawing of all tools. The window
//! sleeps until an input or another thread wakes it. Nothing is computed for closed or unchanged parts; work that grows with the data
//! runs in background tasks.
//!
//! Folders are in rows as the modules of the crate: each imports only from lower rows, and no files import each other in a circle.
//! `tests/project/layers.rs` reads this table and enforces it:
//!
//! ```text
//! row 1: widgets graphics
//! row 2: study rois
//! row 3: layer run
//! row 4: slices
//! row 5: workspace
//! row 6: tools
//! row 7: window
//! row 8: start
//! ```

mod graphics;
mod layer;
mod rois;
mod run;
mod slices;
mod start;
mod study;
mod tools;
mod widgets;
mod window;
mod workspace;

pub use graphics::{DRIVER_ADVICE, graphics_adapters, wgpu_setup};
pub use layer::second_image::SavedLayer;
pub use rois::document::Document;
pub use run::curves::{Curves, Series};
pub use run::displayed_image::DisplayedImage;
pub use run::frames::series::{DoneFrame, FrameSeries};
pub use run::live::{LiveRun, Mark, RunState};
pub use run::reference::{Reference, ReferenceChoice};
pub use slices::tool::Tool;
pub use slices::view::ViewState;
pub use start::{StartError, has_display, run, run_remote, settings_folder, show_error};
pub use study::open::open_tubes::OpenTubes;
pub use study::source::{BUILT_IN, BuiltIn, Measured, Source};
pub use tools::model::Model;
pub use widgets::colour_scale::ColourScale;
pub use widgets::notices::Notices;
pub use window::app::App;
pub use workspace::persistence::saved_session::SavedSession;
pub use workspace::state::{AppOptions, Workspace};
