//! One course on the host for every projector that takes one set of transaxial LORs after the other.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::accumulate::{ImageSink, Parts, PrivateImages, backproject, is_shared, num_private_images, private_bytes, span};
use super::of_share::AmongAll;
use super::sharing::Sharing;
use super::{
    Accumulation, Boxed, LinearOperator, LorRuns, Measured, MirrorSets, Mirrored, OperatorError, OwnShare, Subset, ViewProjector,
    Views, check_lengths,
};
use crate::algebra::{Data, Host, HostArray, Image, PeerGroup, Shard, Voxels};
use crate::task::{Stopped, Task};

/// Views that are worth a private image.
const VIEWS_PER_IMAGE: usize = 5;

/// What was measured of a transaxial LOR.
#[derive(Clone, Copy)]
pub(super) struct MeasuredLor<'a> {
    /// Its view and tangential position.
    pub lor: [usize; 2],
    /// Counts of its planes.
    pub counts: &'a [f32],
}

/// A projector that knows the transaxial LORs (all planes) of one set.
pub(super) trait LorProjector: Send + Sync {
    /// Working memory of a thread.
    type Scratch;

    /// Sets that a thread projects at least: neighbours share image columns.
    const SETS_PER_TASK: usize;

    fn voxels(&self) -> &Voxels;

    fn views(&self) -> &Views;

    /// What is kept from one call to the next.
    fn kept(&self) -> &ProjectorCache;

    /// The same, to be changed.
    fn kept_mut(&mut self) -> &mut ProjectorCache;

    /// The LORs of these views, in the sets that it takes at a time.
    fn mirror_sets(&self, views: &[usize]) -> MirrorSets;

    /// New working memory.
    fn scratch(&self) -> Self::Scratch;

    /// `bins` = A x for each LOR of a set, whose first is (view, tangential position) `first`.
    fn project_set(&self, first: [usize; 2], set: &[Mirrored], x: &[f32], bins: &mut [&mut [f32]], scratch: &mut Self::Scratch);

    /// The same for what was measured of each LOR ([`LinearOperator::expect`]).
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

/// What a projector keeps from one call to the next.
#[derive(Debug, Default)]
pub(super) struct ProjectorCache {
    /// Images that backprojections work in.
    pub private_images: PrivateImages,
    /// With whom the LORs are shared.
    pub sharing: Sharing,
    /// By number and count of the subset.
    sets: Mutex<HashMap<[usize; 2], Arc<LorSets>>>,
}

impl ProjectorCache {
    /// The sets of a subset, made when first needed.
    fn sets<P: LorProjector>(&self, projector: &P, subset: Subset) -> Arc<LorSets> {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let views: Vec<usize> = projector.views().of(subset).collect();
            let mirrored = projector.mirror_sets(&views);
            let (num_tangential, image_len) = (projector.views().num_tangential(), projector.voxels().len());
            Arc::new(LorSets::new(mirrored, views, num_tangential, image_len, self.sharing.team.shard()))
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
    /// What a deterministic backprojection adds to one image after the other, whoever does it: sets as they follow each other.
    own_parts: Vec<Range<usize>>,
    /// The LORs of these, in their order in the subset.
    own_lors: LorRuns,
}

impl LorSets {
    /// Those that a member of a team projects.
    fn new(mirrored: MirrorSets, views: Vec<usize>, num_tangential: usize, image_len: usize, share: Shard) -> Self {
        let num_views = views.len();
        let whole = 0..mirrored.len();
        let own_lors = mirrored.runs(0..0);
        let mut new = Self { mirrored, views, num_tangential, own_parts: Vec::new(), own_lors };
        let num_images = num_private_images(num_views.div_ceil(VIEWS_PER_IMAGE), image_len);
        let mut parts = new.pieces(whole, num_views.div_ceil(num_images));
        new.own_parts = parts.drain(share.of(parts.len())).collect();
        new.own_lors = new.mirrored.runs(new.own_sets());
        new
    }

    /// The sets of the own parts.
    fn own_sets(&self) -> Range<usize> {
        span(&self.own_parts)
    }

    /// A set, and the view and tangential position of its first LOR.
    fn set(&self, index: usize) -> ([usize; 2], &[Mirrored]) {
        let set = self.mirrored.set(index);
        (self.place(set[0].lor), set)
    }

    /// View and tangential position of a LOR of the subset.
    fn place(&self, lor: usize) -> [usize; 2] {
        [self.views[lor / self.num_tangential], lor % self.num_tangential]
    }

    /// Sets, as they follow each other, in pieces of as many LORs as so many views have, give or take a set.
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
    let sets = projector.kept().sets(projector, subset);
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
        let (num_planes, sets) = (self.views().num_planes(), self.kept().sets(self, subset));
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
        let sets = self.kept().sets(self, subset);
        let out = out.values_mut();
        let ranges = if is_shared(accumulation) { sets.pieces(sets.own_sets(), 1) } else { sets.own_parts.clone() };
        let parts = LorParts { projector: self, sets: &sets, q, task };
        let ProjectorCache { private_images, sharing, .. } = self.kept();
        backproject(&parts, ranges, private_images, sharing, accumulation, out)?;
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

impl<P: LorProjector + 'static> ViewProjector<Host> for P {
    /// Whole parts of the sum that a deterministic backprojection is: its bits do not depend on how many members there are.
    fn for_team(mut self: Box<Self>, team: &PeerGroup) -> Result<OwnShare<Host>, OperatorError> {
        self.kept_mut().sharing = Sharing::with(team.clone(), self.voxels());
        let projector = Arc::new(*self);
        let (all, among) = (projector.views().clone(), Arc::clone(&projector));
        let own = move |subset| {
            let (num_planes, sets) = (among.views().num_planes(), among.kept().sets(&*among, subset));
            sets.own_lors.runs().iter().map(|lors| lors.start * num_planes..lors.end * num_planes).collect()
        };
        Ok((Boxed(Box::new(Boxed(projector))), Box::new(AmongAll { all, own })))
    }

    fn voxels(&self) -> &Voxels {
        self.voxels()
    }

    fn views(&self) -> &Views {
        self.views()
    }
}
