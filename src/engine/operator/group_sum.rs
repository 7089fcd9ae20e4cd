//! The sum of a backprojection over a group: only the field of view of an image goes from one member to the next.

use std::ops::Range;

use rayon::prelude::*;

use super::OperatorError;
use crate::algebra::{PeerGroup, Summand, Voxels};

/// Values per piece when images are summed.
pub(super) const CHUNK: usize = 1 << 14;

/// Members that divide a backprojection, and the part of an image that they sum.
#[derive(Debug, Default)]
pub(super) struct GroupSum {
    pub group: PeerGroup,
    fov_runs: Runs,
}

impl GroupSum {
    /// Without a group.
    pub const ALONE: GroupSum = GroupSum { group: PeerGroup::ALONE, fov_runs: Runs(Vec::new()) };

    /// With the members of a group, in an image of these voxels.
    pub fn with(group: PeerGroup, voxels: &Voxels) -> Self {
        Self { group, fov_runs: Runs::new(voxels) }
    }

    /// The same for `num` images between each other: the values of a voxel lie together.
    pub fn of_several(&self, num: usize) -> Self {
        let wide = |run: &Run| Run { place: num * run.place, at: num * run.at, len: num * run.len };
        Self { group: self.group.clone(), fov_runs: Runs(self.fov_runs.0.iter().map(wide).collect()) }
    }

    /// Returns true without other members.
    pub fn is_alone(&self) -> bool {
        self.group.meeting().is_none()
    }

    /// Returns true if the sum begins with this member's images.
    pub fn is_first(&self) -> bool {
        self.is_alone() || self.group.shard().index == 0
    }

    /// `out` = in the field of view the sum, in their order, of the images of all members, one member after the other; outside it
    /// is arbitrary. This member's images are `out` itself, if the sum `begins` with it, and then `images`. Without a group `out`
    /// is unchanged.
    pub fn sum(&self, out: &mut [f32], begins: bool, images: &[Vec<f32>]) -> Result<(), OperatorError> {
        let Some(meeting) = self.group.meeting() else { return Ok(()) };
        Ok(meeting.sum_in_order(&mut GroupSummand { runs: &self.fov_runs, out, begins, images })?)
    }
}

/// Values that lie one after the other: from a place in an image on, and from a place on where there is nothing between them.
#[derive(Clone, Copy, Debug)]
struct Run {
    place: usize,
    at: usize,
    len: usize,
}

/// The values that are seen, in their order.
#[derive(Debug, Default)]
struct Runs(Vec<Run>);

impl Runs {
    fn new(voxels: &Voxels) -> Self {
        let mut end = 0;
        let run = |places: Range<usize>| {
            let run = Run { place: places.start, at: end, len: places.len() };
            end += run.len;
            run
        };
        Self(voxels.fov_ranges().into_iter().map(run).collect())
    }

    fn num_values(&self) -> usize {
        self.0.last().map_or(0, |run| run.at + run.len)
    }

    /// Returns the places in an image of `len` values from `at` on, with their ranges among these.
    fn of(&self, at: usize, len: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let first = self.0.partition_point(|run| run.at + run.len <= at);
        let runs = self.0[first..].iter().take_while(move |run| run.at < at + len);
        runs.map(move |run| {
            let (begin, end) = (run.at.max(at), (run.at + run.len).min(at + len));
            (run.place + begin - run.at..run.place + end - run.at, begin - at..end - at)
        })
    }
}

/// A member's part of a backprojection: images, one after the other. The first is `out` if it `begins` with it.
struct GroupSummand<'a> {
    runs: &'a Runs,
    out: &'a mut [f32],
    begins: bool,
    images: &'a [Vec<f32>],
}

impl Summand for GroupSummand<'_> {
    fn len(&self) -> usize {
        self.runs.num_values()
    }

    fn add_to(&self, at: usize, sum: &mut [f32]) {
        let images = self.begins.then_some(&*self.out).into_iter().chain(self.images.iter().map(Vec::as_slice));
        let images: Vec<&[f32]> = images.collect();
        sum.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, sum)| {
            for (places, here) in self.runs.of(at + chunk * CHUNK, sum.len()) {
                images.iter().for_each(|image| add(&mut sum[here.clone()], &image[places.clone()]));
            }
        });
    }

    fn set(&mut self, at: usize, sum: &[f32]) {
        for (places, here) in self.runs.of(at, sum.len()) {
            self.out[places].copy_from_slice(&sum[here]);
        }
    }
}

pub(super) fn add(sum: &mut [f32], values: &[f32]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Columns, FieldOfView};
    use crate::geometry::Grid;
    use crate::operator::accumulate::add_in_order;

    #[test]
    fn a_member_sends_what_is_seen_and_takes_its_sum_piece_by_piece() {
        let grid = Grid::centred([9, 8, 7], [1.0, 1.0, 2.0]).unwrap();
        let fov = FieldOfView::new(&grid, 3.6);
        let columns = Columns { classes: 2, lanes: 8, first: 1, tail: 8 };
        for voxels in
            [Voxels::in_columns(grid.clone(), fov.clone(), columns), Voxels::in_quads(grid.clone(), fov), Voxels::whole(grid)]
        {
            let image = |seed: usize| (0..voxels.len()).map(|i| ((i * 37 + seed) % 101) as f32 + 0.3).collect::<Vec<_>>();
            let images = [image(1), image(2)];
            for begins in [true, false] {
                let mut expected = if begins { image(0) } else { vec![0.0; voxels.len()] };
                add_in_order(&mut expected, &images);
                voxels.zero_outside_fov(&mut expected);
                let (runs, mut out) = (Runs::new(&voxels), image(0));
                let mut own = GroupSummand { runs: &runs, out: &mut out, begins, images: &images };
                let mut at = 0;
                for len in [1, 5, 64].into_iter().cycle() {
                    let mut sum = vec![0.0; len.min(own.len() - at)];
                    own.add_to(at, &mut sum);
                    own.set(at, &sum);
                    at += sum.len();
                    if sum.is_empty() {
                        break;
                    }
                }
                voxels.zero_outside_fov(&mut out);
                assert!(out == expected, "{voxels:?}");
            }
        }
    }
}
