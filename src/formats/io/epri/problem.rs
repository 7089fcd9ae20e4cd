//! Problems of EPRI acquisitions of any format.

use crate::coded::coded;

/// A problem of an EPRI acquisition of any format.
#[derive(Debug, thiserror::Error)]
pub enum SweepProblem {
    /// Projections that are not measured yet.
    #[error(
        "its {0} projections are all zero, as in a file that was allocated in advance and is not measured yet; \
         if it is being written now, follow it (--follow, or Follow… in the window)"
    )]
    AllZero(usize),
    /// A format that does not support following.
    #[error("only a Bruker descriptor (.DSC) or a saved sweep (.sweep) can be followed while it is written")]
    NotFollowed,
    /// A projection that is not written yet.
    #[error("projection {0} has no direction: it is still to be written; follow it (--follow, or Follow… in the window)")]
    NoDirection(usize),
    /// A phase, in degrees, of real values.
    #[error("its values are real, so there is nothing to turn by {0}°; leave the phase out (--phase)")]
    NotComplex(f64),
    /// A sample that is not finite: its number, its spectrum or table, and its value.
    #[error(
        "sample {} of {} is {}{}, which nothing can be made of; repair it or leave it out",
        .0, .1, .2, if .2.is_infinite() { " in single precision (numbers beyond 3.4e38 are: scale them)" } else { "" }
    )]
    NotFinite(usize, String, f32),
    /// Directions in a plane that is oblique to the axes.
    #[error(
        "all directions lie in one plane that is oblique to the gradient axes (its normal is {:.3}, {:.3}, {:.3}); a slice is reconstructed where the plane goes through two of the axes: give the gradients along two axes in the plane as a table of two rows",
        .0[0], .0[1], .0[2]
    )]
    ObliqueSlice([f64; 3]),
}

coded!(SweepProblem = "io.unsupported.epri");
