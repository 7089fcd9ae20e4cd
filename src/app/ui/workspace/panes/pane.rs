//! Parts of the window that can be moved, resized, hidden and maximised.

use std::borrow::Cow;

/// Part of the window.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pane {
    /// Study, reconstruction and second image.
    Side,
    /// Views of the image.
    Image,
    /// A table, by its key.
    Table(Cow<'static, str>),
    /// A plot, by its key.
    Plot(Cow<'static, str>),
}

impl Pane {
    pub const fn table(key: &'static str) -> Self {
        Pane::Table(Cow::Borrowed(key))
    }

    pub const fn plot(key: &'static str) -> Self {
        Pane::Plot(Cow::Borrowed(key))
    }
}

// Panes that other parts of the window show, and the arrangements contain.
pub const ROIS: Pane = Pane::table("rois");
pub const COMPARE: Pane = Pane::table("compare");
pub const RATES: Pane = Pane::table("rates");
pub const SWEEP: Pane = Pane::table("sweep");
pub const OXYGEN: Pane = Pane::table("oxygen");
pub const SPECTRUM: Pane = Pane::table("spectrum");
pub const NOISE: Pane = Pane::plot("noise");
pub const CONTRAST: Pane = Pane::plot("contrast");
pub const PROGRESS: Pane = Pane::plot("progress");
pub const PROFILE: Pane = Pane::plot("profile");
