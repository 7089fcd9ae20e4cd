//! Film that is being taken.

use std::path::PathBuf;

use crate::io::FilmWriter;
use crate::ui::widgets::file_task::Film;

/// Content of a picture of a film.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// Projection from this azimuth, degrees.
    Azimuth(f64),
    /// Stored iterate by its number.
    Iterate(usize),
    /// Frame by its index.
    Frame(usize),
}

/// Film that is being taken.
pub struct FilmJob {
    pub(super) film: Film,
    pub(super) path: PathBuf,
    pub(super) contents: Vec<Content>,
    pub(super) num_taken: usize,
    pub(super) writer: Option<FilmWriter>,
}

impl FilmJob {
    pub fn text(&self) -> String {
        format!("Film: picture {} of {}", self.num_taken + 1, self.contents.len())
    }
}
