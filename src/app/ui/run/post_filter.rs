//! Post-filter: the Gaussian on the displayed image, computed in the background.

use std::sync::Arc;
use std::time::Duration;

use super::displayed_image::{DisplayedImage, Filtered};
use crate::data::IterateId;
use crate::recon::gaussian_filter;
use crate::ui::widgets::background_value::BackgroundValue;

/// Iterate and FWHM in mm, as bits.
type Key = (IterateId, u64);

/// Post-filter of a displayed image. It filters one iterate at a time.
#[derive(Default)]
pub struct PostFilter(BackgroundValue<Key, Filtered>);

impl PostFilter {
    /// Brings the filtered image up to date; an FWHM of 0 is no filter. Calls `wake` when an image is ready.
    pub fn update(&mut self, shown: &mut DisplayedImage, fwhm_mm: f64, wake: impl FnOnce() + Send + 'static) {
        if fwhm_mm <= 0.0 {
            self.forget();
            return shown.set_filtered(None);
        }
        let Some((id, volume)) = shown.chosen() else { return };
        let unfiltered = Arc::clone(volume);
        let filter = move || {
            let volume = gaussian_filter(&unfiltered, fwhm_mm);
            Filtered { id, fwhm_mm, extremes: volume.extremes(), volume: Arc::new(volume), unfiltered }
        };
        self.0.update("post-filter", (id, fwhm_mm.to_bits()), Duration::ZERO, wake, filter);
        if let Some((_, filtered)) = self.0.newest() {
            shown.set_filtered(Some(filtered.clone()));
        }
    }

    /// Filters the next image again, even if it was filtered last.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}
