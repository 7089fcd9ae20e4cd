//! The field of the reference spectrum against the projections, from the projections themselves.
//!
//! P_i(ω)/H(ω) of the projection i along the gradient g_i is the transform F of the object at the frequency ω g_i, times
//! (1 + γ t_i) exp(−iω(δ + β t_i) − iφ) where gain and field drift with the time t_i = −½ … ½, and the reference is shifted by δ. The transform
//! of an object within |r| ≤ R has hardly any angular functions of a higher degree than |ωg| R, and its real part has those of even degree
//! only, the imaginary part those of odd degree, as the object is real (Helgason–Ludwig conditions: Natterer, The Mathematics of Computerized
//! Tomography, 2001, section II.4). The part of F exp(−iωδ) outside these functions shows δ, β and γ for any object.
//!
//! The fit is one of least squares over the frequencies from 2π/L on, where L is the length of the sweep, with the angular functions of each
//! frequency as free coefficients and the variance of its residuals as its noise. Its errors are the larger of two: those of the residuals,
//! and those of the scatter between frequencies, as a true shift is the same at all of them. A phase φ that all frequencies share is fitted
//! with it: dispersion in the reference is no shift. A reference of another width changes nothing under gradients of one size: its factor
//! is the same for all directions.

mod angular;
mod fit;
mod measurements;
mod orthonormal;
mod small_matrix;
mod warnings;

pub use fit::{FieldFit, WithError};
pub use warnings::field_warnings;

#[cfg(test)]
mod tests;
