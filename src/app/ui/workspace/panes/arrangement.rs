//! Arrangements of the panes for the kinds of work.

use egui_tiles::{Container, Linear, LinearDir, Tabs, TileId, Tiles, Tree};

use super::pane::{COMPARE, CONTRAST, NOISE, PROFILE, PROGRESS, Pane, ROIS, SWEEP};
use crate::ui::slices::rotatable_view::RotatableContent;
use crate::ui::slices::view_layout::Layout;
use crate::ui::widgets::theme;

/// Width of the window for which the shares below are.
pub const USUAL_WIDTH: f32 = 1400.0;

/// Share of the side pane in a row.
const SIDE: f32 = theme::SIDE_WIDTH / USUAL_WIDTH;

/// Share of the panes to the left of the plots for phantoms.
const QUALITY_MIDDLE: f32 = 0.76;

/// Arrangement of the panes for a kind of work.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// A reconstruction with its curves.
    #[default]
    Watch,
    /// Two runs.
    Compare,
    /// Two images over each other.
    Fusion,
    /// Regions of a phantom.
    #[strum(serialize = "QA (NEMA)")]
    Quality,
    /// An EPRI acquisition.
    #[strum(serialize = "EPRI")]
    Epri,
}

impl Arrangement {
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn help(self) -> &'static str {
        match self {
            Arrangement::Watch => "Slices above, numbers and curves of the run below",
            Arrangement::Compare => "Runs side by side, with their similarity and curves",
            Arrangement::Fusion => "Large views with a projection of both images, regions with both numbers",
            Arrangement::Quality => "Regions of a phantom in a wide table; recovery and noise on the right",
            Arrangement::Epri => "Slices with an oblique view, projections and profile",
        }
    }

    /// Returns the layout of the slices and the content of the rotatable view.
    pub fn views(self) -> (Layout, Option<RotatableContent>) {
        match self {
            Arrangement::Watch | Arrangement::Quality => (Layout::OneLarge, None),
            Arrangement::Compare => (Layout::Row, None),
            Arrangement::Fusion => (Layout::Grid, Some(RotatableContent::Mip)),
            Arrangement::Epri => (Layout::Grid, Some(RotatableContent::Oblique)),
        }
    }

    /// Returns the tree of the panes with the table in front; the others are added by [`super::pane_tree::PaneTree::offer`].
    pub fn tree(self) -> Tree<Pane> {
        let mut tiles = Tiles::default();
        let root = match self {
            Arrangement::Watch => {
                let lower = [(vec![ROIS], 0.43), (vec![NOISE], 0.19), (vec![CONTRAST], 0.19), (vec![PROFILE, PROGRESS], 0.19)];
                let lower = row(&mut tiles, lower);
                beside_side(&mut tiles, Pane::Image, lower, [0.67, SIDE])
            }
            Arrangement::Compare => {
                let lower = [(vec![COMPARE], 0.5), (vec![CONTRAST, NOISE, PROGRESS], 0.25), (vec![PROFILE], 0.25)];
                let lower = row(&mut tiles, lower);
                beside_side(&mut tiles, Pane::Image, lower, [0.62, SIDE])
            }
            Arrangement::Fusion => {
                let lower = row(&mut tiles, [(vec![ROIS], 0.62), (vec![PROFILE, NOISE, CONTRAST, PROGRESS], 0.38)]);
                beside_side(&mut tiles, Pane::Image, lower, [0.76, SIDE])
            }
            Arrangement::Quality => {
                let tables = tabs(&mut tiles, vec![ROIS]);
                let middle = beside_side(&mut tiles, Pane::Image, tables, [0.55, SIDE / QUALITY_MIDDLE]);
                let plots = [vec![CONTRAST, PROGRESS], vec![NOISE, PROFILE]];
                let plots = plots.map(|plots| (tabs(&mut tiles, plots), 0.5));
                let right = split(&mut tiles, LinearDir::Vertical, &plots);
                split(&mut tiles, LinearDir::Horizontal, &[(middle, QUALITY_MIDDLE), (right, 1.0 - QUALITY_MIDDLE)])
            }
            Arrangement::Epri => {
                let lower = [(vec![SWEEP], 0.5), (vec![PROFILE], 0.25), (vec![PROGRESS, NOISE, CONTRAST], 0.25)];
                let lower = row(&mut tiles, lower);
                beside_side(&mut tiles, Pane::Image, lower, [0.66, SIDE])
            }
        };
        Tree::new(egui::Id::unique("panes"), root, tiles)
    }
}

/// Inserts panes as tabs of one tile; the first one is in front.
fn tabs(tiles: &mut Tiles<Pane>, panes: Vec<Pane>) -> TileId {
    let children = panes.into_iter().map(|pane| tiles.insert_pane(pane)).collect();
    tiles.insert_container(Tabs::new(children))
}

/// Inserts tiles side by side or below each other, with their shares.
fn split(tiles: &mut Tiles<Pane>, dir: LinearDir, parts: &[(TileId, f32)]) -> TileId {
    let mut linear = Linear::new(dir, parts.iter().map(|(tile, _)| *tile).collect());
    parts.iter().for_each(|(tile, share)| linear.shares.set_share(*tile, *share));
    tiles.insert_container(Container::Linear(linear))
}

/// Inserts tabs side by side, with their shares.
fn row<const N: usize>(tiles: &mut Tiles<Pane>, parts: [(Vec<Pane>, f32); N]) -> TileId {
    let parts = parts.map(|(panes, share)| (tabs(tiles, panes), share));
    split(tiles, LinearDir::Horizontal, &parts)
}

/// Inserts the side pane at full height, to its right a pane above a tile, with the shares of the panes' height and of the side's
/// width.
fn beside_side(tiles: &mut Tiles<Pane>, upper: Pane, lower: TileId, [share, side_share]: [f32; 2]) -> TileId {
    let (side, upper) = (tabs(tiles, vec![Pane::Side]), tabs(tiles, vec![upper]));
    let right = split(tiles, LinearDir::Vertical, &[(upper, share), (lower, 1.0 - share)]);
    split(tiles, LinearDir::Horizontal, &[(side, side_share), (right, 1.0 - side_share)])
}
