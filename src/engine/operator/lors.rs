//! One course on the host for every projector that takes one set of transaxial LORs after the other.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::accumulate::{
    BackprojectionParts, ImageSink, PrivateImages, backproject, is_shared, num_private_images, private_bytes, span,
};
use super::group_sum::GroupSum;
use super::{
    Accumulation, LinearOperator, LorRuns, Measured, MirrorSets, Mirrored, OperatorError, ShardOperator, Subset, ViewProjector,
    Views, check_lengths, shard_of_ranges,
};
use crate::algebra::{Data, Host, HostArray, Image, PeerGroup, Shard, Voxels};
use crate::task::{Stopped, Task};

/// Views that are worth a private image.
const VIEWS_PER_IMAGE: usize = 5;

/// Measured data of a transaxial LOR.
#[derive(Clone, Copy)]
pub(super) struct MeasuredLor<'a> {
    /// Its view and tangential position.
    pub lor: [usize; 2],
    /// Counts of its planes.
    pub counts: &'a [f32],
}

/// Projector of the transaxial LORs (all planes) of one set.
pub(super) trait LorProjector: Send + Sync {
    /// Working memory of a thread.
    type Scratch;

    /// Sets that a thread projects at least: neighbours share image columns.
    const SETS_PER_TASK: usize;

    fn voxels(&self) -> &Voxels;

    fn views(&self) -> &Views;

    /// Returns its memory between calls.
    fn cache(&self) -> &ProjectorCache;

    /// The same, to be changed.
    fn cache_mut(&mut self) -> &mut ProjectorCache;

    /// Returns the LORs of these views, in the sets that it takes at a time.
    fn mirror_sets(&self, views: &[usize]) -> MirrorSets;

    /// New working memory.
    fn scratch(&self) -> Self::Scratch;

    /// `bins` = A x for each LOR of a set, whose first is (view, tangential position) `first`.
    fn project_set(&self, first: [usize; 2], set: &[Mirrored], x: &[f32], bins: &mut [&mut [f32]], scratch: &mut Self::Scratch);

    /// Does the same with the measured data of each LOR ([`LinearOperator::expect`]).
    fn expect_set(
        &self,
        first: [usize; 2],
        set: &[Mirrored],
        x: &[f32],
        _measured: &[MeasuredLor<'_>],
        bins: &mut [&mut [f32]],
        scratch: &mut Self::Scratch,
    ) {
        self.project_set(first, set, x, bins, scratch);
    }

    /// image += Aᵀ q for the LORs of a set, whose first is (view, tangential position) `first`; q holds all LORs of the views.
    fn add_set<S: ImageSink>(&self, first: [usize; 2], set: &[Mirrored], q: &[f32], image: &mut S, scratch: &mut Self::Scratch);
}

/// Memory of a projector between calls.
#[derive(Debug, Default)]
pub(super) struct ProjectorCache {
    /// Images that backprojections work in.
    pub private_images: PrivateImages,
    /// Sum over the members that divide the LORs.
    pub group_sum: GroupSum,
    /// By number and count of the subset.
    sets: Mutex<HashMap<[usize; 2], Arc<LorSets>>>,
}

impl ProjectorCache {
    /// Returns the sets of a subset, made on first use.
    fn sets<P: LorProjector>(&self, projector: &P, subset: Subset) -> Arc<LorSets> {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let views: Vec<usize> = projector.views().of(subset).collect();
            let mirrored = projector.mirror_sets(&views);
            let (num_tangential, image_len) = (projector.views().num_tangential(), projector.voxels().len());
            Arc::new(LorSets::new(mirrored, views, num_tangential, image_len, self.group_sum.group.shard()))
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
    /// This member's parts of a deterministic backprojection, as ranges of sets. For any number of members the parts are the
    /// same.
    own_parts: Vec<Range<usize>>,
    /// The LORs of these, in their order in the subset.
    own_lors: LorRuns,
}

impl LorSets {
    /// Those that a member of a group projects.
    fn new(mirrored: MirrorSets, views: Vec<usize>, num_tangential: usize, image_len: usize, shard: Shard) -> Self {
        let num_views = views.len();
        let whole = 0..mirrored.len();
        let own_lors = mirrored.runs(0..0);
        let mut new = Self { mirrored, views, num_tangential, own_parts: Vec::new(), own_lors };
        let num_images = num_private_images(num_views.div_ceil(VIEWS_PER_IMAGE), image_len);
        let mut parts = new.pieces(whole, num_views.div_ceil(num_images));
        new.own_parts = parts.drain(shard.of(parts.len())).collect();
        new.own_lors = new.mirrored.runs(new.own_sets());
        new
    }

    /// Returns the sets of the own parts.
    fn own_sets(&self) -> Range<usize> {
        span(&self.own_parts)
    }

    /// Returns a set, and the view and tangential position of its first LOR.
    fn set(&self, index: usize) -> ([usize; 2], &[Mirrored]) {
        let set = self.mirrored.set(index);
        (self.place(set[0].lor), set)
    }

    /// View and tangential position of a LOR of the subset.
    fn place(&self, lor: usize) -> [usize; 2] {
        [self.views[lor / self.num_tangential], lor % self.num_tangential]
    }

    /// Divides contiguous sets into pieces of about as many LORs as `num_views` views have.
    fn pieces(&self, sets: Range<usize>, num_views: usize) -> Vec<Range<usize>> {
        let lors_per_piece = (num_views * self.num_tangential).max(1);
        let mut pieces = Vec::new();
        let (mut begin, mut num_lors) = (sets.start, 0);
        for index in sets.clone() {
            num_lors += self.mirrored.set(index).len();
            if num_lors >= (pieces.len() + 1) * lors_per_piece || index + 1 == sets.end {
                pieces.push(begin..index + 1);
                begin = index + 1;
            }
        }
        pieces
    }

    /// Returns the bins of each LOR, set by set.
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

impl<P: LorProjector> BackprojectionParts for LorParts<'_, P> {
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

/// Calls `project` for each of the own sets of a subset, with the bins of its LORs.
fn for_each_set<P: LorProjector>(
    projector: &P,
    subset: Subset,
    x: &HostArray<Image>,
    out: &mut HostArray<Data>,
    task: &Task,
    project: impl Fn([usize; 2], &[Mirrored], &mut [&mut [f32]], &mut P::Scratch) + Sync,
) -> Result<(), OperatorError> {
    let space = projector.views();
    check_lengths([x.len(), projector.voxels().len()], [out.len(), space.len(subset)])?;
    let sets = projector.cache().sets(projector, subset);
    let bins = sets.split(&mut out.values_mut()[..space.len(subset)], space.num_planes());
    let own = sets.own_sets();
    let bins = bins.into_par_iter().enumerate().skip(own.start).take(own.len());
    bins.with_min_len(P::SETS_PER_TASK).try_for_each_init(
        || projector.scratch(),
        |scratch, (index, mut bins)| {
            task.check()?;
            let (first, set) = sets.set(index);
            project(first, set, &mut bins, scratch);
            Ok(())
        },
    )
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
        for_each_set(self, subset, x, out, task, |first, set, bins, scratch| self.project_set(first, set, x, bins, scratch))
    }

    fn expect(
        &self,
        _: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        measured: &Measured<'_, Host>,
        out: &mut HostArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let (num_planes, sets) = (self.views().num_planes(), self.cache().sets(self, subset));
        // A piece holds whole LORs.
        let of_lor = |lor: usize| {
            let bin = lor * num_planes;
            let (at, range) = &measured.pieces[measured.pieces.partition_point(|(at, _)| *at <= bin) - 1];
            MeasuredLor { lor: sets.place(lor), counts: &measured.values[range.start + bin - at..][..num_planes] }
        };
        for_each_set(self, subset, x, out, task, |first, set, bins, scratch| {
            let measured: Vec<MeasuredLor<'_>> = set.iter().map(|member| of_lor(member.lor)).collect();
            self.expect_set(first, set, x, &measured, bins, scratch);
        })
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
        let sets = self.cache().sets(self, subset);
        let out = out.values_mut();
        let ranges = if is_shared(accumulation) { sets.pieces(sets.own_sets(), 1) } else { sets.own_parts.clone() };
        let parts = LorParts { projector: self, sets: &sets, q, task };
        let ProjectorCache { private_images, group_sum, .. } = self.cache();
        backproject(&parts, ranges, private_images, group_sum, accumulation, out)?;
        self.voxels().zero_outside_fov(out);
        Ok(())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        private_bytes(self.views().of(subset).len().div_ceil(VIEWS_PER_IMAGE), self.voxels().len(), accumulation)
    }
}

impl<P: LorProjector + 'static> ViewProjector<Host> for P {
    /// Whole parts of the sum that a deterministic backprojection is: its bits do not depend on how many members there are.
    fn for_group(mut self: Box<Self>, group: &PeerGroup) -> Result<ShardOperator<Host>, OperatorError> {
        self.cache_mut().group_sum = GroupSum::with(group.clone(), self.voxels());
        let all = self.views().clone();
        let bins = |own: &Self, subset| own.cache().sets(own, subset).own_lors.bins(own.views().num_planes());
        Ok(shard_of_ranges(*self, all, bins, false))
    }

    fn voxels(&self) -> &Voxels {
        self.voxels()
    }

    fn views(&self) -> &Views {
        self.views()
    }
}
