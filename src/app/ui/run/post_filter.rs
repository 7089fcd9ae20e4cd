//! Post-filter: the Gaussian on the displayed image, computed in the background.

use std::sync::Arc;

use super::displayed_image::{DisplayedImage, Filtered};
use crate::data::IterateId;
use crate::recon::gaussian_filter;
use crate::task::BackgroundTask;

/// Iterate and FWHM in mm, as bits.
type Key = (IterateId, u64);

/// Post-filter of a displayed image. It filters one iterate at a time.
#[derive(Default)]
pub struct PostFilter {
    work: Option<(Key, BackgroundTask<Filtered>)>,
    done: Option<Key>,
}

impl PostFilter {
    /// Brings the filtered image up to date; an FWHM of 0 is no filter. Calls `wake` when an image is ready.
    pub fn update(&mut self, shown: &mut DisplayedImage, fwhm_mm: f64, wake: impl FnOnce() + Send + 'static) {
        if fwhm_mm <= 0.0 {
            *self = Self::default();
            return shown.set_filtered(None);
        }
        if let Some((key, outcome)) = self.work.as_ref().and_then(|(key, work)| Some((*key, work.poll()?))) {
            (self.work, self.done) = (None, Some(key));
            outcome.into_iter().for_each(|filtered| shown.set_filtered(Some(filtered)));
        }
        let Some((id, volume)) = shown.chosen() else { return };
        let key = (id, fwhm_mm.to_bits());
        if self.work.is_none() && self.done != Some(key) {
            let unfiltered = Arc::clone(volume);
            let filter = move |_: &_| {
                let volume = gaussian_filter(&unfiltered, fwhm_mm);
                Filtered { id, fwhm_mm, extremes: volume.extremes(), volume: Arc::new(volume), unfiltered }
            };
            self.work = Some((key, BackgroundTask::start("post-filter", wake, filter)));
        }
    }

    /// Filters the next image again, even if it was filtered last.
    pub fn forget(&mut self) {
        self.done = None;
    }
}
