//! The shard of a member of a group: its operator and its data.

use std::ops::{Deref, Range};
use std::sync::Arc;

use super::{Accumulation, DataSpace, LinearOperator, Measured, OperatorError, Subset, one_after_the_other};
use crate::algebra::{Backend, Data, Image, Rows, Shard};
use crate::task::Task;

/// Operator of any type.
pub type AnyOperator<B> = Boxed<Box<dyn LinearOperator<B>>>;

/// Operator for the shard of a member of a group, and its data.
pub type ShardOperator<B> = (AnyOperator<B>, Box<dyn DataSpace>);

/// Operator behind a pointer of some kind, for all data or a shard of them.
pub struct Boxed<P> {
    operator: P,
    shard: Shard,
}

impl<P> Boxed<P> {
    /// Operator of all data.
    pub fn new(operator: P) -> Self {
        Self { operator, shard: Shard::WHOLE }
    }
}

impl<B: Backend> AnyOperator<B> {
    /// Hides the type of an operator.
    pub fn any(operator: impl LinearOperator<B> + 'static) -> Self {
        Self::new(Box::new(operator))
    }
}

/// Returns the subset that a subset of a shard is. Shard p of subset s of N is subset s + N p of N n, for views and all data
/// divided by remainder: the operator needs no change.
fn subset_of_shard(shard: Shard, Subset { index, count }: Subset) -> Subset {
    Subset { index: index + count * shard.index, count: count * shard.count }
}

impl<B: Backend, P: Deref<Target: LinearOperator<B>> + Send> LinearOperator<B> for Boxed<P> {
    fn apply(
        &self,
        backend: &mut B,
        subset: Subset,
        x: &B::Array<Image>,
        out: &mut B::Array<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.operator.apply(backend, subset_of_shard(self.shard, subset), x, out, task)
    }

    fn expect(
        &self,
        backend: &mut B,
        subset: Subset,
        x: &B::Array<Image>,
        measured: &Measured<'_, B>,
        out: &mut B::Array<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.operator.expect(backend, subset_of_shard(self.shard, subset), x, measured, out, task)
    }

    fn adjoint(
        &self,
        backend: &mut B,
        subset: Subset,
        q: &B::Array<Data>,
        accumulation: Accumulation,
        out: &mut B::Array<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.operator.adjoint(backend, subset_of_shard(self.shard, subset), q, accumulation, out, task)
    }

    fn num_at_once(&self, accumulation: Accumulation) -> usize {
        self.operator.num_at_once(accumulation)
    }

    fn expect_each(
        &self,
        backend: &mut B,
        subset: Subset,
        images: &[&B::Array<Image>],
        measured: &[Measured<'_, B>],
        out: &mut [&mut B::Array<Data>],
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.operator.expect_each(backend, subset_of_shard(self.shard, subset), images, measured, out, task)
    }

    fn adjoint_each(
        &self,
        backend: &mut B,
        subset: Subset,
        q: &[&B::Array<Data>],
        accumulation: Accumulation,
        out: &mut [&mut B::Array<Image>],
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.operator.adjoint_each(backend, subset_of_shard(self.shard, subset), q, accumulation, out, task)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.operator.accumulations()
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        self.operator.scratch_bytes(subset_of_shard(self.shard, subset), accumulation)
    }
}

/// Data of a shard in separate memory: every n-th view of each subset. Arrays hold the values of the shard alone, those of a
/// subset contiguously.
pub struct ShardData<D> {
    whole: D,
    shard: Shard,
}

impl<D: DataSpace + 'static> ShardData<D> {
    /// Returns an operator and its data for one shard.
    pub fn of<B: Backend>(operator: impl LinearOperator<B> + 'static, data: D, shard: Shard) -> ShardOperator<B> {
        (Boxed { operator: Box::new(operator), shard }, Box::new(Self { whole: data, shard }))
    }

    fn part(&self, subset: Subset) -> Subset {
        subset_of_shard(self.shard, subset)
    }
}

impl<D: DataSpace + 'static> DataSpace for ShardData<D> {
    fn max_subsets(&self) -> usize {
        self.whole.max_subsets() / self.shard.count
    }

    fn len(&self, subset: Subset) -> usize {
        self.whole.len(self.part(subset))
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, num_subsets: usize) -> Arc<Vec<f32>> {
        let all = self.whole.arranged(values, num_subsets * self.shard.count);
        gathered(
            &all,
            self.whole.len(Subset::ALL),
            Subset::all(num_subsets).flat_map(|subset| self.whole.pieces(self.part(subset))),
        )
    }

    /// Returns the values unchanged: those of a shard have no place among those of all.
    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        values
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        one_after_the_other(self, subset)
    }

    fn rows(&self, subset: Subset, rows: Rows) -> Rows {
        self.whole.rows(self.part(subset), rows)
    }
}

/// Returns the values of some pieces of `len` data, one piece after the other. Values that the time-of-flight bins of a line share
/// are fewer than the data; pieces are whole lines.
fn gathered(values: &[f32], len: usize, pieces: impl Iterator<Item = (usize, Range<usize>)>) -> Arc<Vec<f32>> {
    let repeats = (len / values.len().max(1)).max(1);
    let of_lines = |range: Range<usize>| range.start / repeats..range.end / repeats;
    Arc::new(pieces.flat_map(|(_, range)| values[of_lines(range)].iter().copied()).collect())
}

/// Data of a member as ranges of each subset's data.
struct ShardRanges<D, F> {
    /// Data of all members.
    all: D,
    ranges: F,
    /// True if arrays hold the values of the ranges alone, those of a subset contiguously; else they hold the values of all
    /// members.
    is_compact: bool,
}

impl<D: DataSpace, F: Fn(Subset) -> Vec<Range<usize>> + Send> ShardRanges<D, F> {
    /// Returns the pieces of the arranged values of all members that are this member's.
    fn pieces_of_all(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        let ranges = (self.ranges)(subset);
        let common = |(at, piece): (usize, Range<usize>)| {
            let of_piece = ranges.iter().filter_map(move |range| {
                let [begin, end] = [range.start.max(at), range.end.min(at + piece.len())];
                (begin < end).then(|| (begin, piece.start + begin - at..piece.start + end - at))
            });
            of_piece.collect::<Vec<_>>()
        };
        self.all.pieces(subset).into_iter().flat_map(common).collect()
    }
}

impl<D: DataSpace, F: Fn(Subset) -> Vec<Range<usize>> + Send> DataSpace for ShardRanges<D, F> {
    fn max_subsets(&self) -> usize {
        self.all.max_subsets()
    }

    fn len(&self, subset: Subset) -> usize {
        if self.is_compact { (self.ranges)(subset).iter().map(Range::len).sum() } else { self.all.len(subset) }
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, num_subsets: usize) -> Arc<Vec<f32>> {
        let all = self.all.arranged(values, num_subsets);
        if !self.is_compact {
            return all;
        }
        gathered(&all, self.all.len(Subset::ALL), Subset::all(num_subsets).flat_map(|subset| self.pieces_of_all(subset)))
    }

    /// Returns the values of a compact shard unchanged.
    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        if self.is_compact { values } else { self.all.in_order(values) }
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        if self.is_compact { one_after_the_other(self, subset) } else { self.pieces_of_all(subset) }
    }
}

/// Returns an operator that projects its shard, and its data: `ranges` of the data of `all` members in each subset. With
/// `is_compact` arrays hold the values of the ranges alone.
pub(crate) fn shard_of_ranges<B: Backend, P: LinearOperator<B> + Sync + 'static>(
    operator: P,
    all: impl DataSpace + 'static,
    ranges: impl Fn(&P, Subset) -> Vec<Range<usize>> + Send + 'static,
    is_compact: bool,
) -> ShardOperator<B> {
    let operator = Arc::new(operator);
    let owner = Arc::clone(&operator);
    let ranges = move |subset| ranges(&owner, subset);
    (AnyOperator::any(Boxed::new(operator)), Box::new(ShardRanges { all, ranges, is_compact }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::{BinOrder, Views};
    use crate::scanner::find;

    /// Factors that the time-of-flight bins of a line share are fewer than the data.
    #[test]
    fn a_compact_shard_has_the_factors_of_its_lines() {
        let geometry = &find("ecat-931").unwrap().geometry;
        let num_planes = geometry.num_planes();
        let all = Views::by_subset(geometry, BinOrder::Plane).with_tof(3);
        let of_lines: Arc<Vec<f32>> = Arc::new((0..geometry.num_bins()).map(|bin| bin as f32).collect());
        let whole = all.arranged(&of_lines, 2);
        // The second half of the lines of each subset.
        let ranges = move |subset| {
            let lines = all.len(subset) / (3 * num_planes);
            std::iter::once(lines / 2 * 3 * num_planes..lines * 3 * num_planes).collect()
        };
        let all = Views::by_subset(geometry, BinOrder::Plane).with_tof(3);
        let lens = [0, 1].map(|index| all.len(Subset { index, count: 2 }) / 3);
        let shard = ShardRanges { all, ranges, is_compact: true };
        let found = shard.arranged(&of_lines, 2);
        let half = |len: usize| len / num_planes / 2 * num_planes;
        let expected = [&whole[half(lens[0])..lens[0]], &whole[lens[0] + half(lens[1])..]].concat();
        assert_eq!(found.len(), expected.len());
        assert!(*found == expected);
    }
}
