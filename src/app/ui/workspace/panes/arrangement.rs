//! Arrangements of the panes for the kinds of work.

use egui_tiles::{Container, Linear, LinearDir, Tabs, TileId, Tiles, Tree};
use strum::VariantArray as _;

use super::pane::Pane;
use crate::ui::plots::BottomTab;
use crate::ui::plots::plot_options::PlotKind;
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

    pub fn tree(self) -> Tree<Pane> {
        let mut tiles = Tiles::default();
        let root = match self {
            Arrangement::Watch => {
                let [noise, contrast] = [PlotKind::Noise, PlotKind::Contrast].map(|kind| [Pane::Plot(kind)]);
                let curves = [PlotKind::Profile, PlotKind::Progress].map(Pane::Plot);
                let tables = tables(BottomTab::Rois);
                let lower = row(&mut tiles, &[(&tables, 0.43), (&noise, 0.19), (&contrast, 0.19), (&curves, 0.19)]);
                beside_side(&mut tiles, &[Pane::Image], lower, [0.67, SIDE])
            }
            Arrangement::Compare => {
                let curves = [PlotKind::Contrast, PlotKind::Noise, PlotKind::Progress].map(Pane::Plot);
                let lower = row(&mut tiles, &[(&tables(BottomTab::Compare), 0.5), (&curves, 0.25), (&PROFILE, 0.25)]);
                beside_side(&mut tiles, &[Pane::Image], lower, [0.62, SIDE])
            }
            Arrangement::Fusion => {
                let curves = [PlotKind::Profile, PlotKind::Noise, PlotKind::Contrast, PlotKind::Progress].map(Pane::Plot);
                let lower = row(&mut tiles, &[(&tables(BottomTab::Rois), 0.62), (&curves, 0.38)]);
                beside_side(&mut tiles, &[Pane::Image], lower, [0.76, SIDE])
            }
            Arrangement::Quality => {
                let tables = tabs(&mut tiles, &tables(BottomTab::Rois));
                let middle = beside_side(&mut tiles, &[Pane::Image], tables, [0.55, SIDE / QUALITY_MIDDLE]);
                let plots = [[PlotKind::Contrast, PlotKind::Progress], [PlotKind::Noise, PlotKind::Profile]];
                let plots = plots.map(|kinds| (tabs(&mut tiles, &kinds.map(Pane::Plot)), 0.5));
                let right = split(&mut tiles, LinearDir::Vertical, &plots);
                split(&mut tiles, LinearDir::Horizontal, &[(middle, QUALITY_MIDDLE), (right, 1.0 - QUALITY_MIDDLE)])
            }
            Arrangement::Epri => {
                let curves = [PlotKind::Progress, PlotKind::Noise, PlotKind::Contrast].map(Pane::Plot);
                let lower = row(&mut tiles, &[(&tables(BottomTab::Sweep), 0.5), (&PROFILE, 0.25), (&curves, 0.25)]);
                beside_side(&mut tiles, &[Pane::Image], lower, [0.66, SIDE])
            }
        };
        Tree::new(egui::Id::unique("panes"), root, tiles)
    }
}

const PROFILE: [Pane; 1] = [Pane::Plot(PlotKind::Profile)];

/// Returns all tables, this one first.
fn tables(first: BottomTab) -> Vec<Pane> {
    let rest = BottomTab::VARIANTS.iter().copied().filter(|tab| *tab != first);
    std::iter::once(first).chain(rest).map(Pane::Table).collect()
}

/// Inserts panes as tabs of one tile; the first one is in front.
fn tabs(tiles: &mut Tiles<Pane>, panes: &[Pane]) -> TileId {
    let children = panes.iter().map(|pane| tiles.insert_pane(*pane)).collect();
    tiles.insert_container(Tabs::new(children))
}

/// Inserts tiles side by side or below each other, with their shares.
fn split(tiles: &mut Tiles<Pane>, dir: LinearDir, parts: &[(TileId, f32)]) -> TileId {
    let mut linear = Linear::new(dir, parts.iter().map(|(tile, _)| *tile).collect());
    parts.iter().for_each(|(tile, share)| linear.shares.set_share(*tile, *share));
    tiles.insert_container(Container::Linear(linear))
}

/// Inserts tabs side by side, with their shares.
fn row(tiles: &mut Tiles<Pane>, parts: &[(&[Pane], f32)]) -> TileId {
    let parts: Vec<(TileId, f32)> = parts.iter().map(|(panes, share)| (tabs(tiles, panes), *share)).collect();
    split(tiles, LinearDir::Horizontal, &parts)
}

/// Inserts the side pane at full height, to its right some panes above a tile, with the shares of the panes' height and of the side's
/// width.
fn beside_side(tiles: &mut Tiles<Pane>, upper: &[Pane], lower: TileId, [share, side_share]: [f32; 2]) -> TileId {
    let (side, upper) = (tabs(tiles, &[Pane::Side]), tabs(tiles, upper));
    let right = split(tiles, LinearDir::Vertical, &[(upper, share), (lower, 1.0 - share)]);
    split(tiles, LinearDir::Horizontal, &[(side, side_share), (right, 1.0 - side_share)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_arrangement_contains_each_pane_once() {
        for arrangement in Arrangement::VARIANTS {
            let tree = arrangement.tree();
            let mut found: Vec<Pane> = tree
                .tiles
                .tiles()
                .filter_map(|tile| match tile {
                    egui_tiles::Tile::Pane(pane) => Some(*pane),
                    egui_tiles::Tile::Container(_) => None,
                })
                .collect();
            let mut all: Vec<Pane> = Pane::all().collect();
            found.sort();
            all.sort();
            assert_eq!(found, all, "{arrangement:?}");
        }
    }
}
