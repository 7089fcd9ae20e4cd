//! Displayed image: the newest frame or a stored iterate, with its value ranges and its state on the graphics adapter.

use std::sync::Arc;

use crate::algebra::DeviceImage;
use crate::data::{Extremes, IterateId, Volume};
use crate::render::{MAX_AT_ONCE_BYTES, Palette};
use crate::session::{IterateUpdate, StoredIterate};
use crate::task::BackgroundTask;
use crate::ui::widgets::colour_scale::{WindowPercentile, has_negative};

/// Values looked at for the automatic window.
const NUM_SAMPLED: usize = 200_000;
/// Share of the slices at either end that the automatic window leaves out: few LORs reach them, so their noise is large.
const END_SLICES: f64 = 0.1;
/// Negative values of this size relative to the largest ones are looked at in colours with a middle.
const SIGNED: f32 = 0.01;

/// Image after the post-filter.
#[derive(Clone, Debug)]
pub struct Filtered {
    pub id: IterateId,
    pub fwhm_mm: f64,
    pub volume: Arc<Volume>,
    pub extremes: Extremes,
    /// The same iterate as it was reconstructed.
    pub unfiltered: Arc<Volume>,
}

/// Image that is displayed, or will be.
#[derive(Clone)]
struct Displayed {
    id: IterateId,
    /// FWHM of its filter, mm.
    fwhm_mm: Option<f64>,
    volume: Arc<Volume>,
    extremes: Extremes,
    unfiltered: Arc<Volume>,
}

/// Image that was drawn last: number of the change, and for slices ahead of it their iterate and voxel.
type Given = (u64, Option<(IterateId, [usize; 3])>);

/// Ends of shares of the values.
#[derive(Clone, Copy, Default)]
struct Ranges {
    top: WindowPercentile,
    /// Nearly the smallest and nearly the largest value: a few may lie outside.
    usual: [f32; 2],
    /// The ends of the share that the window is to show.
    cut: [f32; 2],
}

#[derive(Default)]
pub struct DisplayedImage {
    newest: Option<IterateUpdate>,
    /// Newer image with slices alone. It is drawn, but not measured.
    ahead: Option<IterateUpdate>,
    past: Option<StoredIterate>,
    filtered: Option<Filtered>,
    /// The selected image, or the one before until the selected one is on the graphics adapter.
    displayed: Option<Displayed>,
    /// Image that is being sent to the adapter, and its ranges. A newer one waits for its end, so that a live run shows images.
    coming: Option<(Displayed, BackgroundTask<Ranges>)>,
    /// Earlier newest frames that are still displayed or coming.
    replaced: Vec<IterateUpdate>,
    generation: u64,
    uploaded: Given,
    /// Smallest and largest value.
    pub range: [f32; 2],
    ranges: Ranges,
    /// Share of the values that the window is to show.
    top: WindowPercentile,
}

impl DisplayedImage {
    /// Forgets all images; the newest frame comes back, to be returned to the session.
    pub fn clear(&mut self) -> Option<IterateUpdate> {
        let frame = self.newest.take();
        *self = Self { generation: self.generation + 1, uploaded: self.uploaded, top: self.top, ..Self::default() };
        frame
    }

    /// Hands everything over to the run after this one, and keeps the newest image for itself too.
    pub fn hand_over(&mut self) -> Self {
        // (The solver needs the images on the window's device for the next run.)
        let newest = self.newest.clone().map(|newest| IterateUpdate { on_device: None, ..newest });
        let mut own = Self { newest, ..Self::default() };
        own.display(own.selected(), None);
        std::mem::replace(self, own)
    }

    /// Takes the newest frame in; an earlier one that is no longer displayed comes back, to be returned to the session.
    pub fn set_newest(&mut self, frame: IterateUpdate) -> Option<IterateUpdate> {
        if frame.slices.is_some() {
            return self.set_ahead(frame);
        }
        self.ahead = self.ahead.take().filter(|ahead| is_before(&frame, ahead));
        if self.past.is_none() && self.newest.as_ref().is_some_and(|before| before.id.run != frame.id.run) {
            self.filtered = None;
        }
        self.replaced.extend(self.newest.replace(frame));
        if self.past.is_none() {
            self.changed();
        }
        let coming = self.coming.as_ref().map(|(image, _)| image);
        let held = [self.displayed.as_ref(), coming].map(|image| Some(Arc::as_ptr(&image?.unfiltered)));
        let free = self.replaced.iter().position(|frame| !held.contains(&Some(Arc::as_ptr(&frame.volume))))?;
        Some(self.replaced.swap_remove(free))
    }

    /// Receives a frame with slices alone, if it is newer than the newest frame. Returns the frame that is no longer needed.
    fn set_ahead(&mut self, frame: IterateUpdate) -> Option<IterateUpdate> {
        if self.newest.as_ref().is_some_and(|newest| !is_before(newest, &frame)) {
            return Some(frame);
        }
        let (volume, extremes) = (Arc::clone(&frame.volume), frame.extremes);
        let before = self.ahead.replace(frame);
        if self.past.is_none() && self.filtered.is_none() && self.is_ahead_alone() {
            self.measure(&volume, extremes, None);
        }
        before
    }

    /// True if slices have arrived, but no whole image of their run.
    fn is_ahead_alone(&self) -> bool {
        let run = self.newest.as_ref().map(|newest| newest.id.run);
        self.ahead.as_ref().is_some_and(|ahead| Some(ahead.id.run) != run)
    }

    /// Returns the image with slices alone if it is drawn: through this voxel, without a filter.
    fn drawn_ahead(&self, slices: Option<[usize; 3]>) -> Option<&IterateUpdate> {
        let is_drawn = self.past.is_none() && self.filtered.is_none();
        self.ahead.as_ref().filter(|ahead| is_drawn && slices.is_some() && ahead.slices == slices)
    }

    /// Returns the image to draw for the slices through this voxel (`None` = for other views): the one with these slices alone,
    /// else the displayed one.
    pub fn drawn(&self, slices: Option<[usize; 3]>) -> Option<&Volume> {
        self.drawn_ahead(slices).map(|ahead| &*ahead.volume).or_else(|| self.volume())
    }

    /// Returns the image with slices alone.
    pub fn ahead(&self) -> Option<&Volume> {
        self.ahead.as_ref().map(|ahead| &*ahead.volume)
    }

    /// Returns the iterate whose slices alone were drawn last.
    pub fn given_ahead(&self) -> Option<IterateId> {
        self.uploaded.1.map(|(id, _)| id)
    }

    /// Returns the iterate of slices that are ahead of the displayed image.
    pub fn ahead_id(&self, slices: Option<[usize; 3]>) -> Option<IterateId> {
        self.drawn_ahead(slices).map(|frame| frame.id)
    }

    /// Displays a stored iterate, or the newest one.
    pub fn set_past(&mut self, past: Option<StoredIterate>) {
        let same = match (&self.past, &past) {
            (None, None) => true,
            (Some(a), Some(b)) => a.id == b.id,
            _ => false,
        };
        if !same {
            self.past = past;
            self.changed();
        }
    }

    /// Sets the filtered image of an iterate; `None` without a filter. An image of another run than that of the selected iterate
    /// is dropped.
    pub fn set_filtered(&mut self, filtered: Option<Filtered>) {
        let run = self.chosen().map(|(id, _)| id.run);
        if filtered.as_ref().is_some_and(|filtered| Some(filtered.id.run) != run) {
            return;
        }
        let volume = |filtered: &Option<Filtered>| filtered.as_ref().map(|filtered| Arc::as_ptr(&filtered.volume));
        if volume(&self.filtered) != volume(&filtered) {
            self.filtered = filtered;
            self.changed();
        }
    }

    pub fn newest_id(&self) -> Option<IterateId> {
        self.newest.as_ref().map(|frame| frame.id)
    }

    /// Returns the selected iterate, stored or newest, without a filter. With a filter, the iterate before is displayed until
    /// this one is filtered.
    pub fn chosen(&self) -> Option<(IterateId, &Arc<Volume>)> {
        let newest = || Some((self.newest_id()?, &self.newest.as_ref()?.volume));
        self.past.as_ref().map(|past| (past.id, &past.volume)).or_else(newest)
    }

    pub fn id(&self) -> Option<IterateId> {
        self.displayed.as_ref().map(|image| image.id)
    }

    /// Returns the displayed image, filtered if there is a filter.
    pub fn volume(&self) -> Option<&Volume> {
        self.image().map(|volume| &**volume)
    }

    /// Returns the displayed image for shared use.
    pub fn image(&self) -> Option<&Arc<Volume>> {
        self.displayed.as_ref().map(|image| &image.volume)
    }

    /// Returns the displayed image without the filter.
    pub fn unfiltered(&self) -> Option<&Volume> {
        self.unfiltered_image().map(|volume| &**volume)
    }

    /// Returns the displayed image without the filter for shared use.
    pub fn unfiltered_image(&self) -> Option<&Arc<Volume>> {
        self.displayed.as_ref().map(|image| &image.unfiltered)
    }

    /// Returns the FWHM of the filter of the displayed image, mm.
    pub fn filter_mm(&self) -> Option<f64> {
        self.displayed.as_ref()?.fwhm_mm
    }

    /// True while a stored iterate is displayed.
    pub fn is_past(&self) -> bool {
        self.past.is_some()
    }

    /// Grows with each change of [`DisplayedImage::volume`].
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the image to draw as it lies on the window's device, where it does.
    fn on_device(&self, slices: Option<[usize; 3]>) -> Option<&DeviceImage> {
        let is_newest = self.past.is_none() && self.filtered.is_none() && self.drawn_ahead(slices).is_none();
        self.newest.as_ref().filter(|_| is_newest)?.on_device.as_ref()
    }

    /// Sends the image to draw ([`DisplayedImage::drawn`]) to the adapter after a change, by `send`, which receives its iterate, a
    /// number of the image, the image, and the same on the window's device; it sends a part of the image and returns true after
    /// the last one. Then the image is displayed.
    pub fn upload(
        &mut self,
        slices: Option<[usize; 3]>,
        mut send: impl FnMut(IterateId, u64, &Volume, Option<&DeviceImage>) -> bool,
    ) {
        if self.coming.is_none() {
            let selected = self.selected().filter(|image| !self.is_displayed(image));
            self.coming = selected.map(|image| self.with_ranges(image));
        }
        if let Some((image, ranges)) = self.coming.take() {
            let number = self.generation + 1;
            if send(image.id, number, &image.volume, None) {
                // They were computed during the upload.
                self.display(Some(image), ranges.wait().ok());
                self.uploaded = (number, None);
            } else {
                self.coming = Some((image, ranges));
            }
            return;
        }
        let given = (self.generation, self.ahead_id(slices).zip(slices));
        if self.uploaded == given {
            return;
        }
        if let Some((id, volume)) = given.1.map(|(id, _)| id).or_else(|| self.id()).zip(self.drawn(slices)) {
            let mut send = || send(id, self.generation, volume, self.on_device(slices));
            // The next frame may have newer slices: their image is sent at once.
            while !send() {
                if given.1.is_none() {
                    return;
                }
            }
            self.uploaded = given;
        }
    }

    /// Returns true if the displayed image is on the adapter.
    pub fn is_uploaded(&self) -> bool {
        self.uploaded.0 == self.generation
    }

    /// Returns true if an image is selected that is not displayed yet.
    pub fn is_coming(&self) -> bool {
        self.selected().is_some_and(|image| !self.is_displayed(&image))
    }

    /// Returns true if the next frame has an image to send to the adapter.
    pub fn has_upload(&self) -> bool {
        self.is_coming() || (self.displayed.is_some() && !self.is_uploaded())
    }

    /// True if the image has negative values larger than rounding and ringing.
    pub fn is_signed(&self) -> bool {
        self.ranges.usual[0] < -SIGNED * self.ranges.usual[1]
    }

    /// Sets the percentile of the automatic window.
    pub fn set_top(&mut self, top: WindowPercentile) {
        if self.top != top {
            self.top = top;
            let ranges = self.volume().map(|volume| Ranges::of(volume, self.range[1], top));
            self.ranges = ranges.unwrap_or(self.ranges);
        }
    }

    /// Returns the automatic window for a palette: from 0, or from a negative smallest value, up to the percentile; for a signed
    /// palette symmetric about 0.
    pub fn auto_window(&self, palette: Palette) -> [f32; 2] {
        let [low, high] = self.ranges.cut;
        if palette == Palette::Signed {
            let size = high.max(-low);
            return [-size, size];
        }
        [if has_negative([self.range[0], high]) { self.range[0] } else { 0.0 }, high]
    }

    /// Returns the selected image, filtered if there is a filter.
    fn selected(&self) -> Option<Displayed> {
        if let Some(Filtered { id, fwhm_mm, volume, extremes, unfiltered }) = self.filtered.clone() {
            return Some(Displayed { id, fwhm_mm: Some(fwhm_mm), volume, extremes, unfiltered });
        }
        let newest = || self.newest.as_ref().map(|frame| (frame.id, &frame.volume, frame.extremes));
        let (id, volume, extremes) = self.past.as_ref().map(|past| (past.id, &past.volume, past.extremes)).or_else(newest)?;
        Some(Displayed { id, fwhm_mm: None, volume: Arc::clone(volume), extremes, unfiltered: Arc::clone(volume) })
    }

    fn is_displayed(&self, image: &Displayed) -> bool {
        let is_same = |shown: &Displayed| shown.id == image.id && Arc::ptr_eq(&shown.volume, &image.volume);
        self.displayed.as_ref().is_some_and(is_same)
    }

    /// Displays the selected image, unless a frame has no time to send it to the adapter ([`DisplayedImage::upload`]).
    fn changed(&mut self) {
        let selected = self.selected();
        let is_large = |image: &Displayed| size_of_val(image.volume.as_slice()) > MAX_AT_ONCE_BYTES;
        if !selected.as_ref().is_some_and(is_large) || self.on_device(None).is_some() {
            self.display(selected, None);
        }
    }

    /// Begins to compute the ranges of an image.
    fn with_ranges(&self, image: Displayed) -> (Displayed, BackgroundTask<Ranges>) {
        let (volume, high, top) = (Arc::clone(&image.volume), image.extremes.high, self.top);
        let ranges = BackgroundTask::start("ranges", || {}, move |_| Ranges::of(&volume, high, top));
        (image, ranges)
    }

    /// Displays an image, whose ranges are computed if they are not known.
    fn display(&mut self, image: Option<Displayed>, known: Option<Ranges>) {
        self.generation += 1;
        (self.displayed, self.coming) = (image.clone(), None);
        if self.past.is_none() && self.filtered.is_none() && self.is_ahead_alone() {
            return;
        }
        image.into_iter().for_each(|image| self.measure(&image.volume, image.extremes, known));
    }

    /// Displays the selected image at once: nothing draws it, or the pictures of a test.
    pub fn display_at_once(&mut self) {
        if self.is_coming() {
            self.display(self.selected(), None);
        }
    }

    /// Sets the ranges of an image.
    fn measure(&mut self, volume: &Volume, Extremes { low, high, .. }: Extremes, known: Option<Ranges>) {
        self.range = [low, high];
        self.ranges = known.filter(|known| known.top == self.top).unwrap_or_else(|| Ranges::of(volume, high, self.top));
    }
}

impl Ranges {
    fn of(volume: &Volume, high: f32, top: WindowPercentile) -> Self {
        let usual = ends(volume, high, WindowPercentile::NearlyAll);
        Self { top, usual, cut: if top == WindowPercentile::NearlyAll { usual } else { ends(volume, high, top) } }
    }
}

/// True if a frame belongs to an earlier run or an earlier step than another one.
fn is_before(frame: &IterateUpdate, other: &IterateUpdate) -> bool {
    (frame.id.run, frame.id.subiteration) < (other.id.run, other.id.subiteration)
}

/// Returns the values that a fraction of all values lie above and below; `high` is the largest value. Zeros, as outside the field
/// of view, count only for [`WindowPercentile::NearlyAll`].
fn ends(volume: &Volume, high: f32, top: WindowPercentile) -> [f32; 2] {
    let [num_x, num_y, num_z] = volume.grid.size;
    let ends = (END_SLICES * num_z as f64) as usize * num_x * num_y;
    let inner = &volume.as_slice()[ends..volume.as_slice().len().saturating_sub(ends)];
    let stride = (inner.len() / NUM_SAMPLED).max(1) | 1;
    let counts_zeros = top == WindowPercentile::NearlyAll;
    let mut sample: Vec<f32> =
        inner.iter().step_by(stride).copied().filter(|v| v.is_finite() && (counts_zeros || *v != 0.0)).collect();
    if sample.is_empty() {
        return [0.0, 1.0];
    }
    let last = sample.len() - 1;
    let rank = ((1.0 - top.cut_off()) * last as f64).round() as usize;
    let top = *sample.select_nth_unstable_by(rank, f32::total_cmp).1;
    let bottom = *sample.select_nth_unstable_by(last - rank, f32::total_cmp).1;
    let top = if top > 0.0 { top } else { high };
    let top = if top > 0.0 { top } else { 1.0 };
    [bottom.min(0.0), top]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;

    fn frame(subiteration: usize) -> IterateUpdate {
        let grid = Grid::centred([4, 4, 4], [1.0; 3]).unwrap();
        let volume = Volume::filled(grid, subiteration as f32);
        IterateUpdate {
            id: IterateId { run: 1, iteration: subiteration, subiteration },
            extremes: volume.extremes(),
            volume: Arc::new(volume),
            on_device: None,
            slices: None,
        }
    }

    /// Sends the image to draw to the adapter if it has changed; returns its step and its first value.
    fn sent(shown: &mut DisplayedImage, slices: Option<[usize; 3]>) -> Option<(usize, f32)> {
        let mut sent = None;
        shown.upload(slices, |id, _, volume, _| {
            sent = Some((id.subiteration, volume.as_slice()[0]));
            true
        });
        sent
    }

    #[test]
    fn each_image_is_uploaded_once_and_the_past_hides_the_newest() {
        let mut shown = DisplayedImage::default();
        assert!(shown.set_newest(frame(1)).is_none());
        assert!(sent(&mut shown, None).is_some());
        assert!(sent(&mut shown, None).is_none());
        let id = IterateId { run: 1, iteration: 0, subiteration: 0 };
        let IterateUpdate { volume, extremes, .. } = frame(7);
        shown.set_past(Some(StoredIterate { id, volume, extremes }));
        assert_eq!(sent(&mut shown, None).map(|(_, value)| value), Some(7.0));
        assert_eq!(shown.set_newest(frame(2)).map(|f| f.id.subiteration), Some(1));
        assert!(sent(&mut shown, None).is_none(), "the newest is not on the screen");
        shown.set_past(None);
        assert_eq!(sent(&mut shown, None).map(|(_, value)| value), Some(2.0));
        assert_eq!(shown.range, [2.0, 2.0]);
        assert_eq!(shown.auto_window(Palette::Grey), [0.0, 2.0]);
    }

    #[test]
    fn a_large_image_is_displayed_after_its_last_part_and_a_newer_one_waits() {
        let large = |subiteration: usize| {
            let volume = Volume::filled(Grid::centred([256, 256, 65], [1.0; 3]).unwrap(), subiteration as f32);
            IterateUpdate { extremes: volume.extremes(), volume: Arc::new(volume), ..frame(subiteration) }
        };
        let mut shown = DisplayedImage::default();
        let mut numbers = Vec::new();
        let mut part = |shown: &mut DisplayedImage, is_last: bool| {
            shown.upload(None, |_, number, _, _| {
                numbers.push(number);
                is_last
            });
            (shown.id().map(|id| id.subiteration), shown.range[1], shown.is_coming())
        };
        assert!(shown.set_newest(frame(1)).is_none());
        assert_eq!(part(&mut shown, true), (Some(1), 1.0, false));
        assert_eq!(shown.set_newest(large(2)).map(|frame| frame.id.subiteration), None, "the first is displayed");
        assert_eq!(part(&mut shown, false), (Some(1), 1.0, true));
        assert!(shown.set_newest(large(3)).is_none(), "the second is coming");
        assert_eq!(shown.set_newest(large(4)).map(|frame| frame.id.subiteration), Some(3));
        assert_eq!(part(&mut shown, false), (Some(1), 1.0, true));
        assert_eq!(part(&mut shown, true), (Some(2), 2.0, true));
        assert_eq!(part(&mut shown, true), (Some(4), 4.0, false));
        assert_eq!(numbers, [1, 2, 2, 2, 3]);
    }

    #[test]
    fn slices_are_drawn_ahead_and_numbers_are_those_of_whole_images() {
        let at = [1, 2, 3];
        let sliced = |subiteration| IterateUpdate { slices: Some(at), ..frame(subiteration) };
        let value = |volume: Option<&Volume>| volume.map(|volume| volume.as_slice()[0]);
        let mut shown = DisplayedImage::default();
        assert!(shown.set_newest(sliced(1)).is_none());
        assert_eq!((value(shown.volume()), shown.id()), (None, None));
        let others = [None, Some([0; 3])].map(|slices| value(shown.drawn(slices)));
        assert_eq!((value(shown.drawn(Some(at))), others), (Some(1.0), [None, None]), "only where they are looked at");
        assert_eq!(shown.range, [1.0, 1.0]);
        let given = |shown: &mut DisplayedImage| sent(shown, Some(at));
        assert_eq!((given(&mut shown), given(&mut shown)), (Some((1, 1.0)), None));
        assert_eq!(shown.given_ahead().map(|id| id.subiteration), Some(1));
        // The whole of it takes their place; those of a later one are ahead again, also of a whole one between them.
        assert!(shown.set_newest(frame(1)).is_none());
        assert_eq!((given(&mut shown), shown.given_ahead()), (Some((1, 1.0)), None));
        assert!(shown.set_newest(sliced(3)).is_none());
        assert_eq!(shown.set_newest(frame(2)).map(|frame| frame.id.subiteration), Some(1));
        assert_eq!((value(shown.volume()), shown.id().map(|id| id.subiteration)), (Some(2.0), Some(2)));
        assert_eq!((given(&mut shown), value(shown.drawn(None))), (Some((3, 3.0)), Some(2.0)));
        assert_eq!(shown.set_newest(sliced(2)).map(|frame| frame.id.subiteration), Some(2), "the same image");
        // What is looked at elsewhere is of the whole one.
        assert_eq!(sent(&mut shown, Some([0; 3])).map(|(step, _)| step), Some(2));
        let id = IterateId { run: 1, iteration: 0, subiteration: 0 };
        let IterateUpdate { volume, extremes, .. } = frame(7);
        shown.set_past(Some(StoredIterate { id, volume, extremes }));
        assert_eq!(given(&mut shown), Some((0, 7.0)));
    }

    #[test]
    fn what_is_said_of_an_image_is_true_while_the_next_is_filtered() {
        let mut shown = DisplayedImage::default();
        let filtered = |run, subiteration, fwhm_mm| {
            let IterateUpdate { volume, .. } = frame(subiteration);
            let mut smooth = (*volume).clone();
            smooth.as_mut_slice().fill(0.5);
            let id = IterateId { run, iteration: subiteration, subiteration };
            Some(Filtered { id, fwhm_mm, extremes: smooth.extremes(), volume: Arc::new(smooth), unfiltered: volume })
        };
        shown.set_filtered(filtered(1, 1, 4.0));
        assert!(shown.volume().is_none(), "there is no image of that run");
        shown.set_newest(frame(1));
        assert_eq!((shown.filter_mm(), shown.id().map(|id| id.subiteration)), (None, Some(1)));
        shown.set_filtered(filtered(1, 1, 4.0));
        shown.set_newest(frame(2));
        let value = |volume: Option<&Volume>| volume.map(|volume| volume.as_slice()[0]);
        let on_screen = |shown: &DisplayedImage| (shown.filter_mm(), shown.id().map(|id| id.subiteration));
        assert_eq!(on_screen(&shown), (Some(4.0), Some(1)), "the second is not filtered yet");
        assert_eq!((value(shown.volume()), value(shown.unfiltered())), (Some(0.5), Some(1.0)));
        assert_eq!(shown.chosen().map(|(id, _)| id.subiteration), Some(2));
        shown.set_filtered(filtered(1, 2, 6.0));
        assert_eq!(on_screen(&shown), (Some(6.0), Some(2)));
        // Another run's image is not hidden behind a filtered one of this run, nor is a late one of this run taken.
        shown.set_newest(IterateUpdate { id: IterateId { run: 2, iteration: 3, subiteration: 3 }, ..frame(3) });
        assert_eq!(on_screen(&shown), (None, Some(3)));
        shown.set_filtered(filtered(1, 2, 6.0));
        assert_eq!(on_screen(&shown), (None, Some(3)));
    }

    #[test]
    fn the_window_shows_the_share_of_the_values_that_was_asked_for() {
        // Three quarters are 0, the rest 1, 2, … in equal numbers.
        let mut volume = Volume::filled(Grid::centred([40, 40, 40], [1.0; 3]).unwrap(), 0.0);
        volume.as_mut_slice().iter_mut().enumerate().filter(|(i, _)| i % 4 == 0).for_each(|(i, v)| *v = (i / 4) as f32);
        let last = (40 * 40 * 40 / 4) as f32;
        let mut shown = DisplayedImage::default();
        let id = IterateId { run: 1, iteration: 1, subiteration: 1 };
        shown.set_past(Some(StoredIterate { id, extremes: volume.extremes(), volume: Arc::new(volume) }));
        // The sample leaves out a tenth of the slices at either end, where the smallest and the largest values are.
        for (top, share) in
            [(WindowPercentile::Percent95, 0.95), (WindowPercentile::Percent99, 0.99), (WindowPercentile::PerMille999, 0.999)]
        {
            shown.set_top(top);
            let expected = last * (0.1 + 0.8 * share);
            let window = shown.auto_window(Palette::Grey);
            assert!(window[0] == 0.0 && (window[1] / expected - 1.0).abs() < 2e-3, "{top:?}: {window:?}, {expected}");
        }
    }

    #[test]
    fn the_window_cuts_a_lonely_peak_off() {
        let mut volume = Volume::filled(Grid::centred([64, 64, 64], [1.0; 3]).unwrap(), 1.0);
        volume.values[[32, 32, 32]] = 1e6;
        volume.values[[0, 0, 0]] = -1e-9;
        let window = |volume: &Volume, palette| {
            let mut shown = DisplayedImage::default();
            let id = IterateId { run: 1, iteration: 1, subiteration: 1 };
            shown.set_past(Some(StoredIterate { id, extremes: volume.extremes(), volume: Arc::new(volume.clone()) }));
            (shown.range, shown.auto_window(palette), shown.is_signed())
        };
        assert_eq!(window(&volume, Palette::Grey), ([-1e-9, 1e6], [0.0, 1.0], false));
        volume.values[[0, 0, 0]] = -0.5;
        assert_eq!(window(&volume, Palette::Grey).1, [-0.5, 1.0]);
        // Where more than a few are negative the colours have a middle.
        volume.as_mut_slice()[64 * 64 * 20..64 * 64 * 30].fill(-2.0);
        assert_eq!(window(&volume, Palette::Signed).1, [-2.0, 2.0]);
        assert!(window(&volume, Palette::Signed).2);
    }
}
