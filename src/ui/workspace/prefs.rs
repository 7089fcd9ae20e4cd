//! What the window remembers from one start to the next.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::render::{Interpolation, Palette};

/// Key in the window's storage.
const KEY: &str = "tomoscope";

/// Files that are remembered.
const MAX_RECENT: usize = 10;

/// The memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    /// Files opened lately, newest first.
    pub recent: Vec<PathBuf>,
    /// Palette.
    pub palette: Palette,
    /// Interpolation.
    pub interpolation: Interpolation,
}

impl Preferences {
    /// What was stored; the defaults where nothing (readable) was.
    pub fn load(storage: Option<&dyn eframe::Storage>) -> Self {
        storage.and_then(|storage| eframe::get_value(storage, KEY)).unwrap_or_default()
    }

    /// Stores the memory with how images are looked at now.
    pub fn save(&mut self, palette: Palette, interpolation: Interpolation, storage: &mut dyn eframe::Storage) {
        (self.palette, self.interpolation) = (palette, interpolation);
        eframe::set_value(storage, KEY, self);
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
