//! One course on the host for every projector that takes one set of transaxial LORs after the other.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::accumulate::{ImageSink, Parts, PrivateImages, backproject, is_shared, num_private_images, private_bytes};
use super::{Accumulation, LinearOperator, MirrorSets, Mirrored, OperatorError, Subset, ViewProjector, Views, check_lengths};
use crate::algebra::{Data, Host, HostArray, Image, Voxels};
use crate::task::{Stopped, Task};

/// Views that are worth a private image.
const VIEWS_PER_IMAGE: usize = 5;

/// A projector that knows the transaxial LORs (all planes) of one set.
pub(super) trait LorProjector: Send + Sync {
    /// Working memory of a thread.
    type Scratch;

    /// Sets that a thread projects at least: neighbours share image columns.
    const SETS_PER_TASK: usize;

    fn voxels(&self) -> &Voxels;

    fn views(&self) -> &Views;

    /// What is kept from one call to the next.
    fn kept(&self) -> &Kept;

    /// The LORs of these views, in the sets that it takes at a time.
    fn mirror_sets(&self, views: &[usize]) -> MirrorSets;

    /// New working memory.
    fn scratch(&self) -> Self::Scratch;

    /// `bins` = A x for each LOR of a set, whose first is (view, tangential position) `first`.
    fn project_set(&self, first: [usize; 2], set: &[Mirrored], x: &[f32], bins: &mut [&mut [f32]], scratch: &mut Self::Scratch);

    /// image += Aᵀ q for the LORs of a set, whose first is (view, tangential position) `first`; q holds all LORs of the views.
    fn add_set<S: ImageSink>(&self, first: [usize; 2], set: &[Mirrored], q: &[f32], image: &mut S, scratch: &mut Self::Scratch);
}

/// What a projector keeps from one call to the next.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Images that backprojections work in.
    pub private_images: PrivateImages,
    /// By number and count of the subset.
    sets: Mutex<HashMap<[usize; 2], Arc<LorSets>>>,
}

impl Kept {
    /// The sets of a subset, made when first needed.
    fn sets<P: LorProjector>(&self, projector: &P, subset: Subset) -> Arc<LorSets> {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let views: Vec<usize> = projector.views().of(subset).collect();
            let mirrored = projector.mirror_sets(&views);
            Arc::new(LorSets { mirrored, views, num_tangential: projector.views().num_tangential() })
        };
        Arc::clone(sets.entry([subset.index, subset.count]).or_insert_with(new))
    }
}

/// The transaxial LORs of a subset.
#[derive(Debug)]
pub(super) struct LorSets {
    mirrored: MirrorSets,
    /// The views of the subset.
    views: Vec<usize>,
    num_tangential: usize,
}

impl LorSets {
    /// A set, and the view and tangential position of its first LOR.
    fn set(&self, index: usize) -> ([usize; 2], &[Mirrored]) {
        let set = self.mirrored.set(index);
        let lor = set[0].lor;
        ([self.views[lor / self.num_tangential], lor % self.num_tangential], set)
    }

    /// The sets, as they follow each other, in pieces of as many LORs as so many views have, give or take a set.
    fn pieces(&self, num_views: usize) -> Vec<Range<usize>> {
        let lors_per_piece = (num_views * self.num_tangential).max(1);
        let mut pieces = Vec::new();
        let (mut begin, mut num_lors) = (0, 0);
        for index in 0..self.mirrored.len() {
            num_lors += self.mirrored.set(index).len();
            if num_lors >= (pieces.len() + 1) * lors_per_piece || index + 1 == self.mirrored.len() {
                pieces.push(begin..index + 1);
                begin = index + 1;
            }
        }
        pieces
    }

    /// The bins of each LOR, set by set.
    fn split<'a>(&self, bins: &'a mut [f32], num_planes: usize) -> Vec<Vec<&'a mut [f32]>> {
        let mut of_lors: Vec<&mut [f32]> = bins.chunks_exact_mut(num_planes).collect();
        let of_set = |index| self.mirrored.set(index).iter().map(|member| std::mem::take(&mut of_lors[member.lor])).collect();
        (0..self.mirrored.len()).map(of_set).collect()
    }
}

/// Backprojection of the LORs of a subset, set by set.
struct LorParts<'a, P> {
    projector: &'a P,
    sets: &'a LorSets,
    q: &'a [f32],
    task: &'a Task,
}

impl<P: LorProjector> Parts for LorParts<'_, P> {
    type Scratch = P::Scratch;

    fn scratch(&self) -> P::Scratch {
        self.projector.scratch()
    }

    fn add<S: ImageSink>(&self, part: Range<usize>, image: &mut S, scratch: &mut P::Scratch) -> Result<(), Stopped> {
        for index in part {
            self.task.check()?;
            let (first, set) = self.sets.set(index);
            self.projector.add_set(first, set, self.q, image, scratch);
        }
        Ok(())
    }
}

impl<P: LorProjector> LinearOperator<Host> for P {
    fn apply(
        &self,
        _: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let space = self.views();
        check_lengths([x.len(), self.voxels().len()], [out.len(), space.len(subset)])?;
        let sets = self.kept().sets(self, subset);
        let bins = sets.split(&mut out.values_mut()[..space.len(subset)], space.num_planes());
        bins.into_par_iter().enumerate().with_min_len(P::SETS_PER_TASK).try_for_each_init(
            || self.scratch(),
            |scratch, (index, mut bins)| {
                task.check()?;
                let (first, set) = sets.set(index);
                self.project_set(first, set, x, &mut bins, scratch);
                Ok(())
            },
        )
    }

    fn adjoint(
        &self,
        _: &mut Host,
        subset: Subset,
        q: &HostArray<Data>,
        accumulation: Accumulation,
        out: &mut HostArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([out.len(), self.voxels().len()], [q.len(), self.views().len(subset)])?;
        let sets = self.kept().sets(self, subset);
        let (out, num_views) = (out.values_mut(), sets.views.len());
        let views_of_a_part = if is_shared(accumulation) {
            1
        } else {
            num_views.div_ceil(num_private_images(num_views.div_ceil(VIEWS_PER_IMAGE), out.len()))
        };
        let parts = LorParts { projector: self, sets: &sets, q, task };
        backproject(&parts, sets.pieces(views_of_a_part), &self.kept().private_images, accumulation, out)?;
        self.voxels().zero_unseen(out);
        Ok(())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        private_bytes(self.views().of(subset).len().div_ceil(VIEWS_PER_IMAGE), self.voxels().len(), accumulation)
    }
}

impl<P: LorProjector> ViewProjector<Host> for P {
    fn voxels(&self) -> &Voxels {
        self.voxels()
    }

    fn views(&self) -> &Views {
        self.views()
    }
}
