//! Fourier transforms in single and double precision. Both libraries are generic: a crate that called them would compile all of
//! their algorithms again with every edit.

#![warn(missing_docs)]

use std::sync::Arc;

use realfft::RealFftPlanner;
pub use realfft::{ComplexToReal, RealToComplex};
use rustfft::FftPlanner;
pub use rustfft::num_complex::Complex;
pub use rustfft::{Fft, FftNum};

/// A number with plans of Fourier transforms, without normalisation.
pub trait Number: FftNum {
    /// Returns Σ x_n exp(−2πi kn/N) of N = `len` complex values.
    fn forward(len: usize) -> Arc<dyn Fft<Self>>;

    /// Returns Σ x_k exp(2πi kn/N) of N = `len` complex values.
    fn inverse(len: usize) -> Arc<dyn Fft<Self>>;

    /// Returns the first `len`/2 + 1 values of the forward transform of `len` real values.
    fn real_forward(len: usize) -> Arc<dyn RealToComplex<Self>>;

    /// Returns the inverse transform to `len` real values, of `len`/2 + 1 complex ones.
    fn real_inverse(len: usize) -> Arc<dyn ComplexToReal<Self>>;
}

macro_rules! number {
    ($Float:ty) => {
        impl Number for $Float {
            #[inline(never)]
            fn forward(len: usize) -> Arc<dyn Fft<Self>> {
                FftPlanner::new().plan_fft_forward(len)
            }

            #[inline(never)]
            fn inverse(len: usize) -> Arc<dyn Fft<Self>> {
                FftPlanner::new().plan_fft_inverse(len)
            }

            #[inline(never)]
            fn real_forward(len: usize) -> Arc<dyn RealToComplex<Self>> {
                RealFftPlanner::new().plan_fft_forward(len)
            }

            #[inline(never)]
            fn real_inverse(len: usize) -> Arc<dyn ComplexToReal<Self>> {
                RealFftPlanner::new().plan_fft_inverse(len)
            }
        }
    };
}

number!(f32);
number!(f64);
