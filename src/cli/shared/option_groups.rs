//! Groups of options by the data that they are for: so no option is ignored in silence.

use crate::plan::DataKind::{self, Events, Pairs, Projections, Sweep};

/// Groups of options for some kinds of data only. An option names its group at its declaration; all options of some structs are in one
/// group. (The settings of algorithms are for the data of their algorithms.)
pub const GROUPS: &[(&str, &[DataKind])] = &[
    ("EpriOptions", &[Sweep]),
    ("ListArguments", &[Events]),
    ("CtArguments", &[Projections, Events]),
    ("UptakeOptions", &[Projections, Events]),
    ("for_scans", &[Projections]),
    ("for_lists", &[Events]),
    ("for_pairs", &[Pairs]),
    ("for_lines", &[Projections, Events]),
    ("for_counts", &[Projections, Events, Pairs]),
    (STEPS, &[Projections, Events, Pairs, Sweep]),
    ("for_growing", &[Events, Sweep]),
];

/// Options of algorithms that iterate.
pub const STEPS: &str = "steps";

/// Options of total variation.
pub const VARIATION: &str = "variation";

/// Options without an effect on commands that write no image.
pub const RECONSTRUCT_ONLY: &[&str] = &["reconstruct_only", "EpriOptions", "UptakeOptions"];

/// Groups of the options of `reconstruct`, by which they are limited.
pub fn groups() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|(group, _)| *group).chain([VARIATION]).chain(RECONSTRUCT_ONLY.iter().copied())
}
