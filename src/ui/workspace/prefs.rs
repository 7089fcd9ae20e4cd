//! What the window remembers from one start to the next.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::render::{Interpolation, Palette};
use crate::ui::slices::cells::Layout;
use crate::ui::slices::turned::TurnedContent;
use crate::ui::slices::view::ViewState;

/// Key in the window's storage.
const KEY: &str = "tomoscope";

/// Files that are remembered.
const MAX_RECENT: usize = 10;

/// The memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    /// Files opened lately, newest first.
    pub recent: Vec<PathBuf>,
    /// Palette.
    pub palette: Palette,
    /// Interpolation.
    pub interpolation: Interpolation,
    /// Where the views are.
    pub layout: Layout,
    /// What the view that can be turned shows.
    pub turned: TurnedContent,
    /// Whether the crosshair is shown.
    pub show_crosshair: bool,
}

impl Default for Preferences {
    fn default() -> Self {
        let ViewState { interpolation, layout, turned, show_crosshair, .. } = ViewState::default();
        Self { recent: Vec::new(), palette: Palette::default(), interpolation, layout, turned, show_crosshair }
    }
}

impl Preferences {
    /// What was stored; the defaults where nothing (readable) was.
    pub fn load(storage: Option<&dyn eframe::Storage>) -> Self {
        storage.and_then(|storage| eframe::get_value(storage, KEY)).unwrap_or_default()
    }

    /// Stores the memory with how images are looked at now.
    pub fn save(&mut self, palette: Palette, view: &ViewState, storage: &mut dyn eframe::Storage) {
        let ViewState { interpolation, layout, turned, show_crosshair, .. } = *view;
        *self = Self { recent: std::mem::take(&mut self.recent), palette, interpolation, layout, turned, show_crosshair };
        eframe::set_value(storage, KEY, self);
    }

    /// What the views show at first.
    pub fn view(&self) -> ViewState {
        let Self { interpolation, layout, turned, show_crosshair, .. } = *self;
        ViewState { interpolation, layout, turned, show_crosshair, ..ViewState::default() }
    }

    /// Puts a file first.
    pub fn remember(&mut self, path: &Path) {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.recent.retain(|other| *other != path);
        self.recent.insert(0, path);
        self.recent.truncate(MAX_RECENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_file_is_first_and_none_is_there_twice() {
        let mut preferences = Preferences::default();
        for name in ["a", "b", "a", "c"] {
            preferences.remember(Path::new(name));
        }
        assert_eq!(preferences.recent, ["c", "a", "b"].map(PathBuf::from));
    }
}
