//! Films of the views as animated PNG: one picture in each frame of the window, until all are taken.

use std::path::Path;

use super::app::App;
use super::film_job::{Content, FilmJob};
use crate::data::Notice;
use crate::io::FilmWriter;
use crate::ui::run::frames::series::FrameSeries;
use crate::ui::slices::rotatable_view::{RotatableContent, Rotation};
use crate::ui::slices::view::ViewState;
use crate::ui::slices::view_layout::Cell;
use crate::ui::widgets::file_task::{FileTask, Film};
use crate::ui::widgets::picture_area::PictureArea;

/// Pictures of a rotation.
const NUM_ANGLES: usize = 36;

/// Time of each picture of a rotation, and of an iterate or a frame, ms.
const ANGLE_MS: u16 = 100;
const ITERATE_MS: u16 = 500;

impl App {
    pub fn is_filming(&self) -> bool {
        self.film.is_some()
    }

    /// Begins a film.
    ///
    /// # Errors
    /// Nothing that changes is stored, or a film is being taken.
    pub(super) fn start_film(&mut self, film: Film, path: &Path) -> Result<(), String> {
        if self.film.is_some() {
            return Err("a film is being taken already".into());
        }
        let contents: Vec<Content> = match film {
            Film::Rotation => (0..NUM_ANGLES).map(|k| Content::Azimuth(360.0 * k as f64 / NUM_ANGLES as f64)).collect(),
            Film::Iterates => self.work.run().stored.iter().copied().map(Content::Iterate).collect(),
            Film::Frames => {
                self.work.frames().map(FrameSeries::stops).unwrap_or_default().into_iter().map(Content::Frame).collect()
            }
        };
        if contents.len() < 2 || self.work.run().shown.volume().is_none() {
            return Err(format!("{}: a film needs an image, and at least two iterates or frames", path.display()));
        }
        self.film = Some(FilmJob { film, path: path.to_owned(), contents, num_taken: 0, writer: None });
        Ok(())
    }

    /// Takes the next picture of the film if its image is displayed; writes the film after the last picture.
    pub(super) fn advance_film(&mut self) {
        let Some(mut job) = self.film.take() else { return };
        self.work.ctx.request_repaint();
        let Some(content) = job.contents.get(job.num_taken).copied() else { return };
        if !self.shows(content) {
            self.film = Some(job);
            return;
        }
        match self.take_picture(content, &mut job) {
            Ok(()) => job.num_taken += 1,
            Err(reason) => return self.work.notify(Notice::error(format!("{}: {reason}", job.path.display()))),
        }
        if job.num_taken < job.contents.len() {
            self.film = Some(job);
            return;
        }
        let Some(writer) = job.writer else { return };
        self.work.write_in_background(FileTask::SaveFilm(job.film), &job.path, move |path| {
            writer.finish(path).map(|()| Vec::new()).map_err(|error| error.to_string())
        });
    }

    /// Displays the image of a picture; returns true once it is displayed.
    fn shows(&mut self, content: Content) -> bool {
        let run = self.work.run();
        let is_filtered = run.shown.filter_mm().is_some() == (run.post_filter_mm > 0.0);
        match content {
            Content::Azimuth(_) => is_filtered,
            Content::Iterate(number) if run.past_number() == Some(number) => is_filtered,
            Content::Iterate(number) => {
                self.work.show_iterate(Some(number));
                false
            }
            Content::Frame(index) if self.work.frames().is_some_and(|series| series.position() == index) => is_filtered,
            Content::Frame(index) => {
                self.work.show_frame(index);
                false
            }
        }
    }

    fn take_picture(&mut self, content: Content, job: &mut FilmJob) -> Result<(), String> {
        let view = self.work.slices.view.clone();
        if let Content::Azimuth(azimuth_deg) = content {
            self.work.slices.view = ViewState {
                maximised: Some(Cell::Turned),
                turned: RotatableContent::Mip,
                turn: Rotation { azimuth_deg, ..view.turn },
                ..view.clone()
            };
        }
        let taken = self.picture(PictureArea::Slices, 1.0);
        self.work.slices.view = view;
        let (size, rgb) = taken?;
        let encoded = match &mut job.writer {
            Some(writer) => writer.add(&rgb),
            none => {
                let picture_ms = if job.film == Film::Rotation { ANGLE_MS } else { ITERATE_MS };
                let begun = FilmWriter::new(size, job.contents.len() as u32, picture_ms, self.picture_texts());
                begun.and_then(|begun| none.insert(begun).add(&rgb))
            }
        };
        encoded.map_err(|error| format!("{error} (was the window resized?)"))
    }
}
