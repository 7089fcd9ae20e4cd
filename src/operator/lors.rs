//! One course on the host for every projector that takes one transaxial LOR after the other.

use rayon::prelude::*;
use strum::VariantArray as _;

use super::accumulate::{ImageSink, PrivateImages, backproject, private_bytes};
use super::{Accumulation, LinearOperator, OperatorError, Subset, ViewProjector, Views, check_lengths};
use crate::algebra::{Data, Host, HostArray, Image, Voxels};
use crate::task::Task;

/// A projector that knows one transaxial LOR (all planes) and the backprojection of one view.
pub(super) trait LorProjector: Send + Sync {
    /// Working memory of a thread.
    type Scratch;

    /// LORs that a thread takes at least: neighbours share image columns.
    const LORS_PER_TASK: usize;

    fn voxels(&self) -> &Voxels;

    fn views(&self) -> &Views;

    /// Images that backprojections work in.
    fn private_images(&self) -> &PrivateImages;

    /// New working memory.
    fn scratch(&self) -> Self::Scratch;

    /// `bins` = A x of one transaxial LOR.
    fn project_lor(&self, view: usize, tangential_pos: usize, x: &[f32], bins: &mut [f32], scratch: &mut Self::Scratch);

    /// image += Aᵀ q for the bins of one view.
    fn add_view<S: ImageSink>(&self, view: usize, q: &[f32], image: &mut S, scratch: &mut Self::Scratch);
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
        let views: Vec<usize> = space.of(subset).collect();
        let num_tangential = space.num_tangential();
        let bins = out.values_mut()[..space.len(subset)].par_chunks_mut(space.num_planes());
        bins.enumerate().with_min_len(P::LORS_PER_TASK).try_for_each_init(
            || self.scratch(),
            |scratch, (transaxial, bins)| {
                task.check()?;
                self.project_lor(views[transaxial / num_tangential], transaxial % num_tangential, x, bins, scratch);
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
        let views: Vec<usize> = self.views().of(subset).collect();
        let out = out.values_mut();
        backproject(self, &views, q, accumulation, out, task)?;
        self.voxels().zero_unseen(out);
        Ok(())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::VARIANTS
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        private_bytes(self.views().of(subset).len(), self.voxels().len(), accumulation)
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
