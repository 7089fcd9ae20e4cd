//! The Gaussian on what is shown, computed on a thread of its own so that no frame waits for it.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::displayed_image::{DisplayedImage, Filtered};
use crate::data::{IterateId, Volume};
use crate::recon::gaussian_filter;

/// What is filtered: which iterate, and how wide.
type Key = (IterateId, u64);

/// A thread that filters one image at a time.
pub struct PostFilter {
    jobs: Sender<(IterateId, Arc<Volume>, f64)>,
    results: Receiver<Filtered>,
    under_way: Option<Key>,
    done: Option<Key>,
}

impl PostFilter {
    /// Starts the thread; `wake` is called after each image.
    pub fn start(wake: impl Fn() + Send + 'static) -> Self {
        let (jobs, inbox) = bounded::<(IterateId, Arc<Volume>, f64)>(1);
        let (outbox, results) = unbounded();
        // Without a thread the inbox closes and images stay unfiltered.
        let _ = std::thread::Builder::new().name("post-filter".into()).spawn(move || {
            for (id, volume, fwhm_mm) in inbox {
                let filtered = gaussian_filter(&volume, fwhm_mm);
                let extremes = filtered.extremes();
                if outbox.send(Filtered { id, fwhm_mm, volume: Arc::new(filtered), extremes, unfiltered: volume }).is_err() {
                    return;
                }
                wake();
            }
        });
        Self { jobs, results, under_way: None, done: None }
    }

    /// Keeps the filtered image of what is shown up to date; a width of 0 is no filter.
    pub fn keep_up(&mut self, shown: &mut DisplayedImage, fwhm_mm: f64) {
        if fwhm_mm <= 0.0 && shown.filter_mm().is_some() {
            shown.set_filtered(None);
            self.forget();
        }
        if let Some(filtered) = self.poll()
            && fwhm_mm > 0.0
        {
            shown.set_filtered(Some(filtered));
        }
        if fwhm_mm > 0.0
            && let Some((id, volume)) = shown.chosen()
        {
            self.ask(id, volume, fwhm_mm);
        }
    }

    /// Asks for the filtered image of an iterate, unless it is there or another one is under way.
    fn ask(&mut self, id: IterateId, volume: &Arc<Volume>, fwhm_mm: f64) {
        let key = (id, fwhm_mm.to_bits());
        let is_wanted = self.under_way.is_none() && self.done != Some(key);
        if is_wanted && self.jobs.try_send((id, Arc::clone(volume), fwhm_mm)).is_ok() {
            self.under_way = Some(key);
        }
    }

    /// The image that is ready, if one is.
    fn poll(&mut self) -> Option<Filtered> {
        let filtered = self.results.try_iter().last()?;
        self.under_way = None;
        self.done = Some((filtered.id, filtered.fwhm_mm.to_bits()));
        Some(filtered)
    }

    /// Forgets what was done: the next question is answered anew.
    pub fn forget(&mut self) {
        self.done = None;
    }
}
