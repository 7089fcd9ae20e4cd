//! A member's share of the data: where it has them in a memory of its own and takes line by line, every n-th view of each subset; or
//! some of those that lie among all others.

use std::ops::Range;
use std::sync::Arc;

use super::{Accumulation, Boxed, DataSpace, LinearOperator, Measured, OperatorError, OwnShare, Subset, one_after_the_other};
use crate::algebra::{Backend, Data, Image, Shard};
use crate::task::Task;

/// An operator, or its data, for one of n shares. Share p of subset s of N is subset s + N p of N n, for views and for whatever else is
/// divided by what is left of a division: an operator of subsets knows it already.
pub struct OfShare<T> {
    whole: T,
    share: Shard,
}

impl<T> OfShare<T> {
    /// An operator and its data.
    pub fn of<B: Backend>(operator: T, data: impl DataSpace + 'static, share: Shard) -> OwnShare<B>
    where
        T: LinearOperator<B> + 'static,
    {
        (Boxed(Box::new(OfShare { whole: operator, share })), Box::new(OfShare { whole: data, share }))
    }

    fn part(&self, Subset { index, count }: Subset) -> Subset {
        Subset { index: index + count * self.share.index, count: count * self.share.count }
    }
}

impl<B: Backend, A: LinearOperator<B>> LinearOperator<B> for OfShare<A> {
    fn apply(
        &self,
        backend: &mut B,
        subset: Subset,
        x: &B::Array<Image>,
        out: &mut B::Array<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        self.whole.apply(backend, self.part(subset), x, out, task)
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
        self.whole.expect(backend, self.part(subset), x, measured, out, task)
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
        self.whole.adjoint(backend, self.part(subset), q, accumulation, out, task)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.whole.accumulations()
    }

    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64 {
        self.whole.scratch_bytes(self.part(subset), accumulation)
    }
}

/// Arrays hold the share's values alone, those of a subset in one piece.
impl<D: DataSpace> DataSpace for OfShare<D> {
    fn max_subsets(&self) -> usize {
        self.whole.max_subsets() / self.share.count
    }

    fn len(&self, subset: Subset) -> usize {
        self.whole.len(self.part(subset))
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, num_subsets: usize) -> Arc<Vec<f32>> {
        let all = self.whole.arranged(values, num_subsets * self.share.count);
        let pieces = Subset::all(num_subsets).flat_map(|subset| self.whole.pieces(self.part(subset)));
        Arc::new(pieces.flat_map(|(_, range)| all[range].iter().copied()).collect())
    }

    /// (A share's values have no place among those of all: they stay as they are.)
    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        values
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        one_after_the_other(self, subset)
    }
}

/// The data of a member where they lie among those of all: arrays hold all values, and only the own ones are used.
pub(super) struct AmongAll<D, F> {
    /// The data of all.
    pub all: D,
    /// Which of a subset's own array are this member's.
    pub own: F,
}

impl<D: DataSpace, F: Fn(Subset) -> Vec<Range<usize>> + Send> DataSpace for AmongAll<D, F> {
    fn max_subsets(&self) -> usize {
        self.all.max_subsets()
    }

    fn len(&self, subset: Subset) -> usize {
        self.all.len(subset)
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, num_subsets: usize) -> Arc<Vec<f32>> {
        self.all.arranged(values, num_subsets)
    }

    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        self.all.in_order(values)
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        let own = (self.own)(subset);
        let common = |(at, range): (usize, Range<usize>)| {
            let of_piece = own.iter().filter_map(move |own| {
                let [begin, end] = [own.start.max(at), own.end.min(at + range.len())];
                (begin < end).then(|| (begin, range.start + begin - at..range.start + end - at))
            });
            of_piece.collect::<Vec<_>>()
        };
        self.all.pieces(subset).into_iter().flat_map(common).collect()
    }
}
