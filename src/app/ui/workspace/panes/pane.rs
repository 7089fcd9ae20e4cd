//! Parts of the window that can be moved, resized, hidden and maximised.

use strum::VariantArray as _;

use crate::ui::plots::BottomTab;
use crate::ui::plots::plot_options::PlotKind;

/// Part of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pane {
    /// Study, reconstruction and second image.
    Side,
    /// Views of the image.
    Image,
    /// A table, by its tab.
    Table(BottomTab),
    Plot(PlotKind),
}

impl Pane {
    pub fn all() -> impl Iterator<Item = Self> {
        let tables = BottomTab::VARIANTS.iter().copied().map(Pane::Table);
        let plots = PlotKind::VARIANTS.iter().copied().map(Pane::Plot);
        [Pane::Side, Pane::Image].into_iter().chain(tables).chain(plots)
    }
}
