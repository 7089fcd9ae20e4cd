//! Preferences that the program stores between starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::pacs::Node;
use crate::render::{Interpolation, Palette};
use crate::ui::slices::rotatable_view::RotatableContent;
use crate::ui::slices::view::ViewState;
use crate::ui::slices::view_layout::Layout;
use crate::ui::workspace::panes::pane_tree::PaneTree;

/// Key in the window's storage.
const KEY: &str = "tomoscope";

/// Key of the panes and their saved arrangements: unreadable ones leave the other preferences unchanged.
const PANES_KEY: &str = "panes";

/// Maximum number of recent files.
const MAX_RECENT: usize = 10;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    /// Recent files, newest first.
    pub recent: Vec<PathBuf>,
    pub palette: Palette,
    pub interpolation: Interpolation,
    pub layout: Layout,
    /// Content of the rotatable view.
    pub turned: RotatableContent,
    pub show_crosshair: bool,
    /// Last node that received a series.
    pub node: Option<Node>,
    /// Application entity title of this program.
    pub calling: Option<String>,
    pub is_motion_reduced: bool,
    /// True if written and sent files have no identity of the patient.
    pub is_anonymous: bool,
    /// Panes, stored under another key.
    #[serde(skip)]
    pub panes: PaneTree,
    /// Saved arrangements of the panes, stored with them.
    #[serde(skip)]
    pub arrangements: BTreeMap<String, PaneTree>,
}

impl Default for Preferences {
    fn default() -> Self {
        let ViewState { interpolation, layout, turned, show_crosshair, .. } = ViewState::default();
        Self {
            recent: Vec::new(),
            palette: Palette::default(),
            interpolation,
            layout,
            turned,
            show_crosshair,
            is_motion_reduced: false,
            is_anonymous: false,
            panes: PaneTree::default(),
            arrangements: BTreeMap::new(),
            node: None,
            calling: None,
        }
    }
}

impl Preferences {
    /// Returns the stored preferences; the defaults if none are stored or readable.
    pub fn load(storage: Option<&dyn eframe::Storage>) -> Self {
        let Some(storage) = storage else { return Self::default() };
        let loaded: Self = eframe::get_value(storage, KEY).unwrap_or_default();
        let earlier = || ron::from_str(&with_quoted_keys(&storage.get_string(PANES_KEY)?)).ok();
        let (panes, arrangements) = eframe::get_value(storage, PANES_KEY).or_else(earlier).unwrap_or_default();
        Self { panes, arrangements, ..loaded }
    }

    /// Stores the preferences with the current palette and view.
    pub fn save(&mut self, palette: Palette, view: &ViewState, storage: &mut dyn eframe::Storage) {
        let ViewState { interpolation, layout, turned, show_crosshair, .. } = *view;
        *self = Self { palette, interpolation, layout, turned, show_crosshair, ..std::mem::take(self) };
        eframe::set_value(storage, KEY, self);
        eframe::set_value(storage, PANES_KEY, &(&self.panes, &self.arrangements));
    }

    /// Returns the view at the start.
    pub fn view(&self) -> ViewState {
        let Self { interpolation, layout, turned, show_crosshair, .. } = *self;
        ViewState { interpolation, layout, turned, show_crosshair, ..ViewState::default() }
    }

    /// Adds a recent file as the first one.
    pub fn add_recent(&mut self, path: &Path) {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.recent.retain(|other| *other != path);
        self.recent.insert(0, path);
        self.recent.truncate(MAX_RECENT);
    }
}

/// Panes whose names earlier versions stored without quotation marks.
const UNQUOTED: [(&str, &[&str]); 2] = [
    (
        "table",
        &[
            "rois", "lesions", "time", "race", "compare", "model", "recovery", "rates", "activity", "sweep", "oxygen",
            "spectrum", "tube",
        ],
    ),
    ("plot", &["noise", "contrast", "progress", "profile"]),
];

/// Returns panes that an earlier version stored, `table(rois)`, as they are stored now.
fn with_quoted_keys(text: &str) -> String {
    let names = UNQUOTED.iter().flat_map(|(kind, names)| names.iter().map(move |name| (kind, name)));
    names.fold(text.to_owned(), |text, (kind, name)| text.replace(&format!("{kind}({name})"), &format!("{kind}(\"{name}\")")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::workspace::panes::pane::NOISE;

    #[derive(Default)]
    struct Memory(std::collections::HashMap<String, String>);

    impl eframe::Storage for Memory {
        fn get_string(&self, key: &str) -> Option<String> {
            self.0.get(key).cloned()
        }

        fn set_string(&mut self, key: &str, value: String) {
            self.0.insert(key.to_owned(), value);
        }

        fn remove_string(&mut self, key: &str) {
            self.0.remove(key);
        }

        fn flush(&mut self) {}
    }

    #[test]
    fn views_are_laid_out_again_as_they_were() {
        let mut storage = Memory::default();
        let view =
            ViewState { layout: Layout::Row, turned: RotatableContent::Oblique, show_crosshair: false, ..Default::default() };
        let mut preferences = Preferences::default();
        preferences.add_recent(Path::new("a"));
        preferences.node = Some("ARCHIVE@pacs.example:104".parse().unwrap());
        preferences.save(Palette::HotMetalBlue, &view, &mut storage);
        let loaded = Preferences::load(Some(&storage));
        assert_eq!(loaded, preferences);
        assert_eq!((loaded.palette, loaded.recent.len()), (Palette::HotMetalBlue, 1));
        let again = loaded.view();
        assert_eq!((again.layout, again.turned, again.show_crosshair), (view.layout, view.turned, view.show_crosshair));
        // What an earlier version stored is kept, and the rest begins as usual.
        storage.0.insert(KEY.to_owned(), "(recent: [\"b\"], palette: grey, interpolation: linear)".to_owned());
        let loaded = Preferences::load(Some(&storage));
        assert_eq!((loaded.palette, loaded.layout, loaded.show_crosshair), (Palette::Grey, Layout::OneLarge, true));
    }

    #[test]
    fn panes_that_an_earlier_version_stored_keep_their_places() {
        let mut storage = Memory::default();
        let mut preferences = Preferences::default();
        preferences.panes.toggle(&NOISE);
        // A name of a layout that looks like a pane of an earlier version.
        preferences.arrangements.insert("my plot(ct)".to_owned(), PaneTree::default());
        preferences.save(Palette::Grey, &ViewState::default(), &mut storage);
        let text = storage.0[PANES_KEY].clone();
        let names = UNQUOTED.iter().flat_map(|(kind, names)| names.iter().map(move |name| (kind, name)));
        let before = names
            .fold(text.clone(), |text, (kind, name)| text.replace(&format!("{kind}(\"{name}\")"), &format!("{kind}({name})")));
        assert!(before != text && with_quoted_keys(&before) == text);
        storage.0.insert(PANES_KEY.to_owned(), before);
        assert_eq!(Preferences::load(Some(&storage)), preferences);
        preferences.save(Palette::Grey, &ViewState::default(), &mut storage);
        assert_eq!(Preferences::load(Some(&storage)), preferences);
    }

    #[test]
    fn the_newest_file_is_first_and_no_file_occurs_twice() {
        let mut preferences = Preferences::default();
        for name in ["a", "b", "a", "c"] {
            preferences.add_recent(Path::new(name));
        }
        assert_eq!(preferences.recent, ["c", "a", "b"].map(PathBuf::from));
    }
}
