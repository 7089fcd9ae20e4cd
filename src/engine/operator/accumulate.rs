//! Backprojection on the CPU by many threads: the three ways in which they add to one image.
//!
//! `Deterministic`: the lines are cut into pieces that do not depend on the number of threads; each piece has a private
//! image and these are summed in order. `Atomic` and `NonAtomic`: all threads share one image of relaxed atomics, and
//! add by compare-and-swap or by load, add, store. The latter is the real race, without undefined behaviour.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::group_sum::{CHUNK, GroupSum, add};
use super::{Accumulation, OperatorError};
use crate::algebra::prefetch;
use crate::task::Stopped;

/// Most private images of one backprojection.
const MAX_PRIVATE_IMAGES: usize = 16;
/// Values that all private images together may have (512 MiB), unless one alone is larger.
const MAX_PRIVATE_VALUES: usize = 1 << 27;

/// An image that values are added to.
pub(super) trait ImageSink {
    /// Adds a value at an index.
    fn add(&mut self, index: usize, value: f32);

    /// Announces that a row of `len` values from `index` on will be added to soon.
    fn prefetch_row(&self, _index: usize, _len: usize) {}

    /// Adds a row of values from `index` on.
    fn add_row(&mut self, index: usize, values: &[f32]) {
        for (k, &value) in values.iter().enumerate() {
            self.add(index + k, value);
        }
    }
}

/// A private image.
pub(super) struct Private<'a>(pub &'a mut [f32]);

impl ImageSink for Private<'_> {
    #[inline(always)]
    fn add(&mut self, index: usize, value: f32) {
        self.0[index] += value;
    }

    #[inline(always)]
    fn prefetch_row(&self, index: usize, len: usize) {
        prefetch(&self.0[index..index + len]);
    }

    #[inline(always)]
    fn add_row(&mut self, index: usize, values: &[f32]) {
        for (sum, value) in self.0[index..index + values.len()].iter_mut().zip(values) {
            *sum += value;
        }
    }
}

/// A shared image; every addition arrives.
pub(super) struct SharedAtomic<'a>(pub &'a [AtomicU32]);

impl ImageSink for SharedAtomic<'_> {
    fn add(&mut self, index: usize, value: f32) {
        let cell = &self.0[index];
        let mut old = cell.load(Ordering::Relaxed);
        loop {
            let new = (f32::from_bits(old) + value).to_bits();
            match cell.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(current) => old = current,
            }
        }
    }
}

/// A shared image; additions of threads that meet are lost.
pub(super) struct SharedRacy<'a>(pub &'a [AtomicU32]);

impl ImageSink for SharedRacy<'_> {
    fn add(&mut self, index: usize, value: f32) {
        let cell = &self.0[index];
        let old = f32::from_bits(cell.load(Ordering::Relaxed));
        cell.store((old + value).to_bits(), Ordering::Relaxed);
    }
}

/// Returns an image of zeros that threads share.
pub(super) fn shared_image(len: usize) -> Vec<AtomicU32> {
    (0..len).map(|_| AtomicU32::new(0)).collect()
}

/// Its values.
pub(super) fn write_shared(image: &[AtomicU32], out: &mut [f32]) {
    out.par_iter_mut().zip(image).for_each(|(value, cell)| *value = f32::from_bits(cell.load(Ordering::Relaxed)));
}

/// Private images, reused by the next backprojection: fresh memory costs as much as a tenth of the work.
#[derive(Debug, Default)]
pub(super) struct PrivateImages(Mutex<Vec<Vec<f32>>>);

impl PrivateImages {
    /// Takes `count` images of `len` arbitrary values.
    fn take(&self, count: usize, len: usize) -> Vec<Vec<f32>> {
        let mut images = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        images.resize_with(count, Vec::new);
        for image in &mut images {
            image.resize(len, 0.0);
        }
        images
    }

    /// Gives them back.
    fn put(&self, images: Vec<Vec<f32>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = images;
    }

    /// `out` = the sum, in the order of the pieces, of what `add` adds to the image of zeros of each of `num_pieces`; With a
    /// group the sum is that of the pieces of all members, one member after the other, in the field of view alone.
    pub fn sum_of_pieces(
        &self,
        group_sum: &GroupSum,
        num_pieces: usize,
        out: &mut [f32],
        add: impl Fn(usize, &mut [f32]) -> Result<(), Stopped> + Sync,
    ) -> Result<(), OperatorError> {
        // The first image, with which the sum begins, is `out` itself.
        let is_first = group_sum.is_first();
        let mut private = self.take(num_pieces.saturating_sub(usize::from(is_first)), out.len());
        let mut images: Vec<&mut [f32]> = Vec::with_capacity(num_pieces.max(1));
        if is_first {
            images.push(&mut *out);
        }
        images.extend(private.iter_mut().map(Vec::as_mut_slice));
        let added = images.par_iter_mut().enumerate().with_max_len(1).try_for_each(|(piece, image)| {
            image.fill(0.0);
            if piece < num_pieces { add(piece, image) } else { Ok(()) }
        });
        let summed = match added {
            Err(stopped) => Err(stopped.into()),
            Ok(()) if group_sum.is_alone() => {
                add_in_order(out, &private);
                Ok(())
            }
            Ok(()) => group_sum.sum(out, is_first, &private),
        };
        self.put(private);
        summed
    }

    /// The same of pieces that are made one after the other, each by all threads: see [`PrivateImages::num_in_turn`].
    pub fn sum_in_turn(
        &self,
        group_sum: &GroupSum,
        num_pieces: usize,
        out: &mut [f32],
        mut add: impl FnMut(usize, &mut [f32]) -> Result<(), Stopped>,
    ) -> Result<(), OperatorError> {
        let num_in_out = usize::from(group_sum.is_first());
        let mut private = self.take(Self::num_in_turn(group_sum, num_pieces), out.len());
        let mut make = || {
            if num_in_out == 1 {
                fill_with_zeros(out);
                if num_pieces > 0 {
                    add(0, out)?;
                }
            }
            for piece in num_in_out..num_pieces {
                let image = if group_sum.is_alone() { &mut private[0] } else { &mut private[piece - num_in_out] };
                fill_with_zeros(image);
                add(piece, image)?;
                if group_sum.is_alone() {
                    add_in_order(out, &private);
                }
            }
            Ok(())
        };
        let made: Result<(), Stopped> = make();
        let summed = made.map_err(OperatorError::from).and_then(|()| group_sum.sum(out, num_in_out == 1, &private));
        self.put(private);
        summed
    }

    /// Returns the number of images of such pieces without `out`: one, or one for each piece that is summed with those of others.
    pub fn num_in_turn(group_sum: &GroupSum, num_pieces: usize) -> usize {
        let num = num_pieces.saturating_sub(usize::from(group_sum.is_first()));
        if group_sum.is_alone() { num.min(1) } else { num }
    }
}

/// Returns the number of private images for work that is worth `worth` of them. It depends on the problem, not on the threads.
pub(super) fn num_private_images(worth: usize, image_len: usize) -> usize {
    let affordable = (MAX_PRIVATE_VALUES / image_len.max(1)).clamp(1, MAX_PRIVATE_IMAGES);
    worth.clamp(1, affordable)
}

/// Returns true if all threads add to one image.
pub(super) fn is_shared(accumulation: Accumulation) -> bool {
    matches!(accumulation, Accumulation::Atomic | Accumulation::NonAtomic)
}

/// Returns the bytes that [`backproject`] allocates (the first private image is `out` itself).
pub(super) fn private_bytes(worth: usize, image_len: usize, accumulation: Accumulation) -> u64 {
    let images = if is_shared(accumulation) { 1 } else { num_private_images(worth, image_len) - 1 };
    4 * (images * image_len) as u64
}

/// Backprojection in parts.
pub(super) trait BackprojectionParts: Sync {
    /// Working memory of a thread.
    type Scratch;

    /// New working memory.
    fn scratch(&self) -> Self::Scratch;

    /// image += a part.
    fn add<S: ImageSink>(&self, part: Range<usize>, image: &mut S, scratch: &mut Self::Scratch) -> Result<(), Stopped>;
}

/// `out` = the sum of all parts; in the field of view also those of other members of a group. A deterministic sum has at most as
/// many parts as private images.
pub(super) fn backproject<P: BackprojectionParts>(
    parts: &P,
    ranges: Vec<Range<usize>>,
    private_images: &PrivateImages,
    group_sum: &GroupSum,
    accumulation: Accumulation,
    out: &mut [f32],
) -> Result<(), OperatorError> {
    if is_shared(accumulation) {
        let shared = shared_image(out.len());
        ranges.into_par_iter().with_max_len(1).try_for_each_init(
            || parts.scratch(),
            |scratch, range| {
                if accumulation == Accumulation::Atomic {
                    parts.add(range, &mut SharedAtomic(&shared), scratch)
                } else {
                    parts.add(range, &mut SharedRacy(&shared), scratch)
                }
            },
        )?;
        write_shared(&shared, out);
        return group_sum.sum(out, true, &[]);
    }
    // Lines know no other way.
    private_images.sum_of_pieces(group_sum, ranges.len(), out, |index, image| {
        let range = ranges.get(index).cloned().unwrap_or_default();
        parts.add(range, &mut Private(image), &mut parts.scratch())
    })
}

/// Returns the union of contiguous parts.
pub(super) fn span(parts: &[Range<usize>]) -> Range<usize> {
    match parts {
        [first, .., last] => first.start..last.end,
        [only] => only.clone(),
        [] => 0..0,
    }
}

fn fill_with_zeros(image: &mut [f32]) {
    image.par_chunks_mut(CHUNK).for_each(|values| values.fill(0.0));
}

/// `sum` += all images, one after the other in each voxel.
pub(super) fn add_in_order(sum: &mut [f32], images: &[Vec<f32>]) {
    sum.par_chunks_mut(CHUNK).enumerate().for_each(|(piece, sum)| {
        images.iter().for_each(|image| add(sum, &image[piece * CHUNK..]));
    });
}
