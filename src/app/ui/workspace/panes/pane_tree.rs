//! The panes as they are in the window: positions, sizes, hidden panes, the maximised one.

use std::collections::BTreeSet;

use egui_tiles::{Container, LinearDir, Tile, TileId, Tree};

use super::arrangement::{Arrangement, USUAL_WIDTH};
use super::pane::{Pane, ROIS};

/// Largest part of a row that the side pane fills.
const MAX_SIDE_PART: f32 = 0.5;

/// Positions and sizes of all panes.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PaneTree {
    pub(in crate::ui) tree: Tree<Pane>,
    /// Panes that the user has hidden.
    hidden: BTreeSet<Pane>,
    /// Pane that fills the window.
    #[serde(skip)]
    maximised: Option<Pane>,
    /// Width of the window for which the sizes are, points.
    width: f32,
}

impl Default for PaneTree {
    fn default() -> Self {
        Self::of(Arrangement::default())
    }
}

impl PaneTree {
    pub fn of(arrangement: Arrangement) -> Self {
        Self { tree: arrangement.tree(), hidden: BTreeSet::new(), maximised: None, width: USUAL_WIDTH }
    }

    /// Returns the pane that fills the window.
    pub fn maximised(&self) -> Option<&Pane> {
        self.maximised.as_ref()
    }

    /// Lets a pane fill the window, or none.
    pub fn maximise(&mut self, pane: Option<Pane>) {
        pane.iter().for_each(|pane| self.bring_forward(pane));
        self.maximised = pane;
    }

    /// Lets a pane fill the window; the maximised one returns to its place.
    pub fn toggle_maximised(&mut self, pane: &Pane) {
        let is_maximised = self.maximised.as_ref() == Some(pane);
        self.maximise((!is_maximised).then(|| pane.clone()));
    }

    /// Shows a pane in front of its tabs.
    pub fn show(&mut self, pane: &Pane) {
        self.maximised = self.maximised.take().filter(|maximised| maximised == pane);
        self.bring_forward(pane);
    }

    fn bring_forward(&mut self, pane: &Pane) {
        self.hidden.remove(pane);
        // (The first drawing adds the panes that a new arrangement lacks.)
        if self.tree.tiles.find_pane(pane).is_none() {
            self.add(pane.clone());
        }
        if let Some(tile) = self.tree.tiles.find_pane(pane) {
            self.tree.set_visible(tile, true);
            self.tree.make_active(|id, _| id == tile);
        }
    }

    /// True if the user has hidden a pane.
    pub fn is_hidden(&self, pane: &Pane) -> bool {
        self.hidden.contains(pane)
    }

    /// Hides a pane, or shows a hidden one.
    pub fn toggle(&mut self, pane: &Pane) {
        if self.is_hidden(pane) {
            self.show(pane);
        } else {
            self.hidden.insert(pane.clone());
            self.maximised = self.maximised.take().filter(|maximised| maximised != pane);
        }
    }

    pub fn is_drawn(&self, pane: &Pane) -> bool {
        match &self.maximised {
            Some(maximised) => maximised == pane,
            None => self.tree.tiles.find_pane(pane).is_some_and(|tile| self.tree.active_tiles().contains(&tile)),
        }
    }

    /// Returns the key of the table that is drawn; of several, that of the regions or the first by its name.
    pub fn table(&self) -> String {
        let drawn = self.tree.active_tiles().into_iter().filter_map(|tile| match self.tree.tiles.get_pane(&tile)? {
            Pane::Table(key) => Some(key.to_string()),
            Pane::Side | Pane::Image | Pane::Plot(_) => None,
        });
        drawn.min_by_key(|key| (*key != "rois", key.clone())).unwrap_or_else(|| "rois".to_owned())
    }

    /// Offers those of all panes that the study has, and adds those that the tree lacks, in their order. A pane that is none of them is
    /// hidden.
    pub fn offer(&mut self, panes: &[(Pane, bool)]) {
        for (pane, _) in panes {
            if self.tree.tiles.find_pane(pane).is_none() {
                self.add(pane.clone());
            }
        }
        let is_offered = |pane: &Pane| panes.iter().any(|(other, is_offered)| other == pane && *is_offered);
        let of_tile = |(id, tile): (&TileId, &Tile<Pane>)| match tile {
            Tile::Pane(pane) => Some((*id, is_offered(pane) && !self.hidden.contains(pane))),
            Tile::Container(_) => None,
        };
        let visible: Vec<(TileId, bool)> = self.tree.tiles.iter().filter_map(of_tile).collect();
        visible.into_iter().for_each(|(tile, is_visible)| self.tree.set_visible(tile, is_visible));
        self.maximised = self.maximised.take().filter(is_offered);
    }

    /// Adds a pane to the tabs of the table of the regions, or of another table.
    fn add(&mut self, pane: Pane) {
        let tiles = &mut self.tree.tiles;
        let is_table = |tile: &Tile<Pane>| matches!(tile, Tile::Pane(Pane::Table(_)));
        let table = || tiles.iter().filter(|(_, tile)| is_table(tile)).map(|(id, _)| *id).min_by_key(|id| id.0);
        let table = tiles.find_pane(&ROIS).or_else(table);
        let tile = tiles.insert_pane(pane);
        let parent = table.and_then(|table| tiles.parent_of(table));
        match parent.and_then(|parent| tiles.get_mut(parent)) {
            Some(Tile::Container(container)) => container.add_child(tile),
            _ => *self = Self::default(),
        }
    }

    /// Keeps the width of the side pane in points where the window has another width.
    pub fn fit_to(&mut self, width: f32) {
        let before = std::mem::replace(&mut self.width, width);
        if before == width || !(before > 0.0 && width > 0.0) {
            return;
        }
        let tiles = &mut self.tree.tiles;
        let Some(mut tile) = tiles.find_pane(&Pane::Side) else { return };
        while let Some(parent) = tiles.parent_of(tile) {
            if let Some(Tile::Container(Container::Linear(linear))) = tiles.get_mut(parent)
                && linear.dir == LinearDir::Horizontal
            {
                let rest: f32 = linear.children.iter().filter(|child| **child != tile).map(|child| linear.shares[*child]).sum();
                let part = linear.shares[tile] / (linear.shares[tile] + rest) * before / width;
                let part = part.min(MAX_SIDE_PART);
                linear.shares.set_share(tile, part / (1.0 - part) * rest);
                return;
            }
            tile = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;
    use crate::ui::workspace::panes::pane::{COMPARE, CONTRAST, NOISE, PROFILE, PROGRESS, ROIS, SWEEP};

    /// Returns some panes in their order, all but one offered.
    fn all(but: Option<&Pane>) -> Vec<(Pane, bool)> {
        let panes = [Pane::Side, Pane::Image, ROIS, COMPARE, SWEEP, NOISE, CONTRAST, PROGRESS, PROFILE];
        panes.map(|pane| (pane.clone(), but != Some(&pane))).into()
    }

    #[test]
    fn each_arrangement_contains_each_pane_once() {
        for arrangement in Arrangement::VARIANTS {
            let mut panes = PaneTree::of(*arrangement);
            panes.offer(&all(None));
            let of_tile = |tile: &Tile<Pane>| if let Tile::Pane(pane) = tile { Some(pane.clone()) } else { None };
            let mut found: Vec<Pane> = panes.tree.tiles.tiles().filter_map(of_tile).collect();
            let mut all: Vec<Pane> = all(None).into_iter().map(|(pane, _)| pane).collect();
            found.sort();
            all.sort();
            assert_eq!(found, all, "{arrangement:?}");
        }
    }

    #[test]
    fn a_pane_comes_to_the_front_is_hidden_and_fills_the_window() {
        let mut panes = PaneTree::of(Arrangement::Fusion);
        assert!(panes.is_drawn(&PROFILE) && !panes.is_drawn(&NOISE));
        panes.show(&NOISE);
        assert!(panes.is_drawn(&NOISE) && !panes.is_drawn(&PROFILE));
        panes.toggle_maximised(&PROFILE);
        assert!(panes.is_drawn(&PROFILE) && !panes.is_drawn(&Pane::Image));
        panes.toggle_maximised(&PROFILE);
        assert!(panes.is_drawn(&Pane::Image));
        panes.toggle(&PROFILE);
        panes.offer(&all(None));
        assert!(panes.is_hidden(&PROFILE) && !panes.is_drawn(&PROFILE));
        panes.show(&PROFILE);
        assert!(panes.is_drawn(&PROFILE));
    }

    #[test]
    fn tables_of_other_studies_are_not_offered() {
        let mut panes = PaneTree::of(Arrangement::Epri);
        assert_eq!(panes.table(), "sweep");
        panes.offer(&all(Some(&SWEEP)));
        assert!(!panes.is_drawn(&SWEEP));
    }

    #[test]
    fn a_pane_is_shown_before_the_first_drawing_adds_it() {
        let mut panes = PaneTree::of(Arrangement::Watch);
        panes.show(&SWEEP);
        panes.offer(&all(None));
        assert!(panes.is_drawn(&SWEEP) && !panes.is_drawn(&ROIS) && panes.table() == "sweep");
    }

    #[test]
    fn a_stored_tree_without_a_pane_receives_it() {
        let mut panes = PaneTree::default();
        let tile = panes.tree.tiles.find_pane(&PROFILE).unwrap();
        panes.tree.remove_recursively(tile);
        panes.offer(&all(None));
        panes.show(&PROFILE);
        assert!(panes.is_drawn(&PROFILE));
        let text = serde_json::to_string(&panes).unwrap();
        assert_eq!(serde_json::from_str::<PaneTree>(&text).unwrap(), panes);
    }

    #[test]
    fn the_side_pane_keeps_its_width() {
        let mut panes = PaneTree::default();
        let part = |panes: &PaneTree| {
            let tiles = &panes.tree.tiles;
            let tile = tiles.parent_of(tiles.find_pane(&Pane::Side).unwrap()).unwrap();
            let parent = tiles.parent_of(tile).unwrap();
            let Some(Container::Linear(linear)) = tiles.get_container(parent) else { panic!("no row") };
            linear.shares[tile] / linear.children.iter().map(|child| linear.shares[*child]).sum::<f32>()
        };
        let usual = part(&panes) * USUAL_WIDTH;
        for width in [800.0, 2560.0, 1280.0] {
            panes.fit_to(width);
            assert!((part(&panes) * width - usual).abs() < 0.1, "{width}");
        }
    }
}
