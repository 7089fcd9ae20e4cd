//! The processes that share one reconstruction with this one, where there are some.

use std::sync::OnceLock;

use crate::algebra::{PeerGroup, Shard};

/// This process among others.
struct Place {
    team: PeerGroup,
    /// Whose GPUs are dealt out.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code))]
    on_this_host: Shard,
}

static PLACE: OnceLock<Place> = OnceLock::new();

/// From now on reconstructions are those of a team of processes, each with its share of the data: all of them start the same ones in
/// the same order. `on_this_host`: which of the host's processes this one is.
pub fn share_with_processes(team: PeerGroup, on_this_host: Shard) {
    // There is one team of processes, as there is one start of them.
    let _ = PLACE.set(Place { team, on_this_host });
}

/// Returns the place of this process.
pub(in crate::plan) fn process_team() -> PeerGroup {
    PLACE.get().map_or(PeerGroup::ALONE, |place| place.team.clone())
}

/// Returns the number of processes.
pub(in crate::plan) fn num_processes() -> usize {
    PLACE.get().map_or(1, |place| place.team.shard().count)
}

/// Returns true if this process shares the work with others.
pub(in crate::plan) fn are_several() -> bool {
    num_processes() > 1
}

/// Those of some GPUs of this host, by their numbers, that this process uses: they are dealt out to the host's processes, and where
/// there are fewer than these, some use the same.
#[cfg(feature = "cuda")]
pub(in crate::plan) fn own_gpus(numbers: Vec<usize>) -> Vec<usize> {
    let Shard { index, count } = PLACE.get().map_or(Shard::WHOLE, |place| place.on_this_host);
    dealt_out(numbers, index, count)
}

#[cfg(feature = "cuda")]
fn dealt_out(numbers: Vec<usize>, index: usize, count: usize) -> Vec<usize> {
    match numbers.len() {
        0 => numbers,
        len if index < len => numbers.into_iter().skip(index).step_by(count.max(1)).collect(),
        len => vec![numbers[index % len]],
    }
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_dealt_out_to_the_processes_of_a_host() {
        let dealt = |num_gpus: usize, count: usize| -> Vec<Vec<usize>> {
            (0..count).map(|index| dealt_out((4..4 + num_gpus).collect(), index, count)).collect()
        };
        assert_eq!(dealt(2, 1), [[4, 5]]);
        assert_eq!(dealt(4, 2), [[4, 6], [5, 7]]);
        assert_eq!(dealt(3, 2), [vec![4, 6], vec![5]]);
        assert_eq!(dealt(2, 3), [[4], [5], [4]]);
    }
}
