//! One algorithm for each slab of a volume, on several devices: for images whose voxels are independent.

use std::ops::Range;
use std::thread;

use super::{Algorithm, Explained, ReconError, StepReport};
use crate::algebra::{BackendError, PendingVolume};
use crate::data::{Projection, RoiMask, RoiSums, Volume};
use crate::geometry::{Grid, GridError};
use crate::operator::{Accumulation, OperatorError};
use crate::task::Task;

/// Cuts a grid across z into `count` slabs of nearly equal heights; into fewer if it has fewer slices.
///
/// # Errors
/// As [`Grid::new`].
pub fn slabs(grid: &Grid, count: usize) -> Result<Vec<Grid>, GridError> {
    let ([nx, ny, nz], [x, y, z]) = (grid.size, grid.origin_mm);
    let count = count.clamp(1, nz.max(1));
    let slab = |k: usize| {
        let [first, end] = [k, k + 1].map(|k| k * nz / count);
        Grid::new([nx, ny, end - first], grid.voxel_mm, [x, y, z + first as f64 * grid.voxel_mm[2]])
    };
    (0..count).map(slab).collect()
}

struct Slab {
    algorithm: Box<dyn Algorithm>,
    /// Where its voxels lie in the volume.
    voxels: Range<usize>,
    /// For copies.
    volume: Volume,
}

/// The algorithms of all slabs, in step.
pub struct SlabAlgorithm {
    slabs: Vec<Slab>,
}

impl SlabAlgorithm {
    /// Algorithms of slabs, one above the other ([`slabs`]).
    pub fn new(slabs: impl IntoIterator<Item = (Box<dyn Algorithm>, Grid)>) -> Self {
        let mut end = 0;
        let slab = |(algorithm, grid): (Box<dyn Algorithm>, Grid)| {
            let first = end;
            end += grid.num_voxels();
            Slab { algorithm, voxels: first..end, volume: Volume::filled(grid, 0.0) }
        };
        Self { slabs: slabs.into_iter().map(slab).collect() }
    }

    fn first(&self) -> Option<&dyn Algorithm> {
        self.slabs.first().map(|slab| &*slab.algorithm)
    }
}

impl Algorithm for SlabAlgorithm {
    /// A stop takes effect before the step: inside it some slabs would have done the step and others not.
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        task.check().map_err(OperatorError::from)?;
        let outcomes: Vec<Result<StepReport, ReconError>> = thread::scope(|scope| {
            let algorithms = self.slabs.iter_mut().map(|slab| &mut slab.algorithm);
            let threads: Vec<_> = algorithms.map(|algorithm| scope.spawn(|| algorithm.step(&Task::new()))).collect();
            let panicked = || ReconError::Panicked;
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect()
        });
        let reports = outcomes.into_iter().collect::<Result<Vec<StepReport>, ReconError>>()?;
        reports.into_iter().next().ok_or(ReconError::NoDevice)
    }

    fn num_subsets(&self) -> usize {
        self.first().map_or(0, Algorithm::num_subsets)
    }

    fn append(&mut self, projections: Vec<Projection>, is_last: bool) -> Result<(), ReconError> {
        self.slabs.iter_mut().try_for_each(|slab| slab.algorithm.append(projections.clone(), is_last))
    }

    fn is_waiting(&self) -> bool {
        self.first().is_some_and(Algorithm::is_waiting)
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        for slab in &mut self.slabs {
            slab.algorithm.volume_into(&mut slab.volume)?;
            volume.as_mut_slice()[slab.voxels.clone()].copy_from_slice(slab.volume.as_slice());
        }
        Ok(())
    }

    fn begin_volume(&mut self) -> Result<Option<PendingVolume>, ReconError> {
        let mut parts = Vec::with_capacity(self.slabs.len());
        for slab in &mut self.slabs {
            let Some(part) = slab.algorithm.begin_volume()? else { return Ok(None) };
            parts.push((slab.voxels.clone(), part));
        }
        let num_voxels = self.slabs.last().map_or(0, |slab| slab.voxels.end);
        Ok(Some(PendingVolume::new(move |volume| {
            if volume.len() != num_voxels {
                return Err(BackendError::Length { expected: num_voxels, found: volume.len() });
            }
            parts.into_iter().try_for_each(|(voxels, part)| part.fill(&mut volume[voxels]))
        })))
    }

    /// The data are the same for all slabs, and the whole image is held against them.
    fn explained(&mut self, task: &Task) -> Result<Option<Explained>, ReconError> {
        let Some(first) = self.slabs.first() else { return Ok(None) };
        let mut grid = first.volume.grid.clone();
        grid.size[2] = self.slabs.iter().map(|slab| slab.volume.grid.size[2]).sum();
        let mut image = Volume::filled(grid, 0.0);
        self.volume_into(&mut image)?;
        self.slabs.first_mut().map_or(Ok(None), |slab| slab.algorithm.explained_by(&image, task))
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        for Slab { algorithm, voxels, .. } in &mut self.slabs {
            let of_slab = |mask: &RoiMask| {
                let inside = mask.voxels.iter().filter(|(voxel, _)| voxels.contains(&(*voxel as usize)));
                RoiMask { voxels: inside.map(|&(voxel, weight)| (voxel - voxels.start as u32, weight)).collect() }
            };
            algorithm.set_rois(&masks.iter().map(of_slab).collect::<Vec<RoiMask>>())?;
        }
        Ok(())
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        let mut sums: Vec<RoiSums> = Vec::new();
        for slab in &mut self.slabs {
            let of_slab = slab.algorithm.roi_sums()?;
            if sums.is_empty() {
                sums = of_slab;
            } else {
                sums.iter_mut().zip(of_slab).for_each(|(sum, part)| *sum += part);
            }
        }
        Ok(sums)
    }

    fn set_accumulation(&mut self, accumulation: Accumulation) {
        self.slabs.iter_mut().for_each(|slab| slab.algorithm.set_accumulation(accumulation));
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.first().map_or(&[], Algorithm::accumulations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_are_the_whole_grid_one_above_the_other() {
        let grid = Grid::new([5, 4, 11], [1.0, 2.0, 3.0], [-2.0, -4.0, -15.0]).unwrap();
        for count in [1, 2, 3, 11, 40] {
            let slabs = slabs(&grid, count).unwrap();
            assert_eq!(slabs.len(), count.min(11));
            let middles = |grid: &Grid| (0..grid.size[2]).map(|z| grid.mm_from_voxel([0.0, 0.0, z as f64])).collect::<Vec<_>>();
            assert_eq!(slabs.iter().flat_map(middles).collect::<Vec<_>>(), middles(&grid));
            let heights: Vec<usize> = slabs.iter().map(|slab| slab.size[2]).collect();
            assert!(heights.iter().max().unwrap() - heights.iter().min().unwrap() <= 1);
        }
    }
}
