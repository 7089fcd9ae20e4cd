//! A sum whose value does not hang on how many processes there are: pieces of it go from each process to the next, which adds its
//! own, and back when they are whole. All pieces are on their way at the same time, so that all processes add at the same time
//! and both directions are used.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use mpi::request::{Request, Scope, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, Destination as _, Source};

use super::{NAP, Spare, pause};
use crate::algebra::Shard;

/// Values of a piece.
const PIECE: usize = 1 << 18;

/// Most pieces that are on their way at a time: each is held three times.
const MAX_PIECES: usize = 64;

/// Returns the values of a sum that travel together.
pub fn batches(len: usize) -> impl Iterator<Item = Range<usize>> {
    let batch = PIECE * MAX_PIECES;
    (0..len).step_by(batch).map(move |at| at..(at + batch).min(len))
}

/// Returns the values of a sum, piece by piece.
pub fn pieces(batch: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    batch.clone().step_by(PIECE).map(move |at| at..(at + PIECE).min(batch.end))
}

/// Pieces that are on their way, in their order.
type Waiting<'a, S> = VecDeque<Request<'a, [f32], S>>;

/// Work of the thread of MPI while pieces travel.
pub struct Carrier {
    lens: Vec<usize>,
    shard: Shard,
    spare: Spare,
    come: Sender<Vec<f32>>,
    added: Receiver<Vec<f32>>,
    wholes: Sender<Vec<f32>>,
}

/// Channels of the solver.
pub struct Ends {
    /// Pieces from the process before, in order.
    pub come: Receiver<Vec<f32>>,
    /// Those pieces, with this process's own added.
    pub added: Sender<Vec<f32>>,
    /// Pieces of the whole sum from the process after this one, in order.
    pub wholes: Receiver<Vec<f32>>,
}

/// For pieces of one batch.
pub fn chain(batch: Range<usize>, shard: Shard, spare: Spare) -> (Carrier, Ends) {
    let ((come, has_come), (add, added), (wholes, are_whole)) = (unbounded(), unbounded(), unbounded());
    let lens = pieces(batch).map(|piece| piece.len()).collect();
    (Carrier { lens, shard, spare, come, added, wholes }, Ends { come: has_come, added: add, wholes: are_whole })
}

impl Carrier {
    /// Carries all pieces on.
    pub fn run(self, world: &SimpleCommunicator) {
        let Self { lens, shard: Shard { index, count }, spare, .. } = &self;
        let neighbour = |is_there: bool, rank: usize| is_there.then(|| world.process_at_rank(rank as i32));
        let (before, after) = (neighbour(*index > 0, index.wrapping_sub(1)), neighbour(index + 1 < *count, index + 1));
        let places = |is_there: bool| lens.iter().filter(|_| is_there).map(|&len| spare.take(len)).collect::<Vec<_>>();
        let (mut come, mut wholes) = (places(before.is_some()), places(after.is_some()));
        let added: Vec<OnceCell<Vec<f32>>> = lens.iter().map(|_| OnceCell::new()).collect();
        scope(|s| {
            let (mut coming, mut wholes_coming) =
                (receive(s, before.as_ref(), &mut come), receive(s, after.as_ref(), &mut wholes));
            let (mut going, mut to_add) = (VecDeque::new(), added.iter());
            let (mut waits_since, mut num_at_solver) = (Instant::now(), if before.is_none() { lens.len() } else { 0 });
            while !(coming.is_empty() && wholes_coming.is_empty() && going.is_empty() && to_add.len() == 0) {
                let mut has_moved = false;
                // A solver that gave up no longer receives: the other processes still get their pieces.
                if let Some(piece) = first_done(&mut coming) {
                    let _ = self.come.send(spare.copy(piece));
                    (num_at_solver, has_moved) = (num_at_solver + 1, true);
                }
                if let Some(whole) = first_done(&mut wholes_coming) {
                    going.extend(before.as_ref().map(|before| before.immediate_send(s, whole)));
                    let _ = self.wholes.send(spare.copy(whole));
                    has_moved = true;
                }
                // While the solver has something to add this thread's core is left to it.
                let rest = if num_at_solver > 0 && !has_moved { NAP } else { Duration::ZERO };
                if let Ok(piece) = self.added.recv_timeout(rest)
                    && let Some(place) = to_add.next()
                {
                    let piece: &[f32] = place.get_or_init(|| piece);
                    // The last process has the whole.
                    going.extend(after.as_ref().or(before.as_ref()).map(|to| to.immediate_send(s, piece)));
                    (num_at_solver, has_moved) = (num_at_solver - 1, true);
                }
                has_moved |= first_done(&mut going).is_some();
                if has_moved {
                    waits_since = Instant::now();
                } else {
                    pause(waits_since);
                }
            }
        });
        come.into_iter()
            .chain(wholes)
            .chain(added.into_iter().filter_map(OnceCell::into_inner))
            .for_each(|piece| spare.put(piece));
    }
}

/// Waits for all these pieces at once.
fn receive<'a, S: Scope<'a> + Copy, P: Source>(s: S, from: Option<&P>, places: &'a mut [Vec<f32>]) -> Waiting<'a, S> {
    match from {
        Some(from) => places.iter_mut().map(|place| from.immediate_receive_into(s, &mut place[..])).collect(),
        None => VecDeque::new(),
    }
}

/// Returns the values of the first request, if it is complete. Requests complete in order.
fn first_done<'a, S: Scope<'a>>(requests: &mut Waiting<'a, S>) -> Option<&'a [f32]> {
    match requests.pop_front()?.test_with_data() {
        Ok((_, values)) => Some(values),
        Err(not_yet) => {
            requests.push_front(not_yet);
            None
        }
    }
}
