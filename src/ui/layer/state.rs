//! State of the second image.

use std::path::Path;

use super::second_image::{Registration, SecondImage};
use crate::data::{CompactVolume, ImageChoice, ImageSeries, MaskedRois, Notice, Placement, Roi, SeriesNames};
use crate::geometry::Grid;
use crate::io::read_images;
use crate::task::BackgroundTask;
use crate::ui::rois::roi_view::SecondNumbers;
use crate::ui::study::loader::LoadFailure;

/// Result of reading a second image.
type Read = Result<(ImageSeries, CompactVolume, Vec<Notice>), LoadFailure>;

/// Second image, or the one that is being read.
#[derive(Default)]
pub struct LayerState {
    /// Second image.
    pub image: Option<SecondImage>,
    /// Number of second images so far.
    pub generation: u64,
    /// Numbers of the regions in it.
    pub numbers: Option<SecondNumbers>,
    /// Regions, displayed grid and registration of these numbers.
    measured: Option<(Vec<Roi>, Grid, Registration, u64)>,
    loading: Option<(String, BackgroundTask<Read>)>,
}

impl LayerState {
    /// Starts reading the first image of a file or a series; calls `wake` at its end.
    pub fn start(&mut self, path: &Path, wake: impl FnOnce() + Send + 'static) {
        let title = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let of = path.to_owned();
        let read = move |_: &_| {
            let (mut series, notices) = read_images(&of, ImageChoice::Number(1))?;
            let image = series.images.drain(..).next().ok_or("the file contains no image")?;
            Ok((series, CompactVolume::new(image.volume), notices))
        };
        self.loading = Some((title, BackgroundTask::start("second image", wake, read)));
    }

    /// Updates the numbers of the regions, after a change.
    pub fn measure(&mut self, rois: &MaskedRois, grid: &Grid, placement: Option<&Placement>) {
        let Some(image) = self.image.as_ref().filter(|image| image.is_drawn()) else {
            (self.numbers, self.measured) = (None, None);
            return;
        };
        let is_same = self.measured.as_ref().is_some_and(|(of, on, registration, generation)| {
            *generation == self.generation && *registration == image.registration && on == grid && of.iter().eq(rois.iter())
        });
        if is_same {
            return;
        }
        let means = rois.masks(grid).into_iter().map(|mask| image.mean_and_sd(grid, placement, &mask)).collect();
        let (name, unit) = (image.series.modality.name().to_owned(), image.volume.unit.label());
        self.numbers = Some(SecondNumbers { name, unit, means });
        self.measured = Some((rois.iter().cloned().collect(), grid.clone(), image.registration, self.generation));
    }

    /// Returns the name of the file that is being read.
    pub fn loading(&self) -> Option<&str> {
        self.loading.as_ref().map(|(title, _)| title.as_str())
    }

    /// Gives up reading.
    pub fn cancel(&mut self) {
        self.loading = None;
    }

    /// Removes the second image.
    pub fn clear(&mut self) {
        *self = Self { generation: self.generation, ..Self::default() };
    }

    /// Takes the image that was read; `names` are those of the displayed image. Returns notices, or the error.
    pub fn receive(&mut self, names: Option<&SeriesNames>) -> Option<Result<Vec<Notice>, LoadFailure>> {
        let (_, task) = self.loading.as_ref()?;
        let outcome = task.poll()?;
        let (title, _) = self.loading.take()?;
        Some(outcome.unwrap_or_else(|failure| Err(failure.to_string().into())).map(|(series, volume, notices)| {
            self.image = Some(SecondImage::new(title, series, volume, names));
            self.generation += 1;
            notices
        }))
    }
}
