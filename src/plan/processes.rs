//! The processes that share one reconstruction with this one, where there are some.

use std::sync::OnceLock;

use crate::algebra::{Share, Team};

static TEAM: OnceLock<Team> = OnceLock::new();

/// From now on reconstructions of counts are those of a team of processes, each with its share of the data: all of them start the same ones
/// in the same order.
pub fn share_with_processes(team: Team) {
    // There is one team of processes, as there is one start of them.
    let _ = TEAM.set(team);
}

/// The place of this process.
pub(super) fn process_team() -> Team {
    TEAM.get().cloned().unwrap_or(Team::ALONE)
}

/// Whether it has others beside it.
pub(super) fn are_several() -> bool {
    process_team().share() != Share::WHOLE
}
