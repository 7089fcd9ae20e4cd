//! Fourier transforms of images at frequencies that are not on a grid, and convolutions with kernels as large as the image.
//!
//! Arrays are `[z, y, x]`. An axis of one value takes no part: an image of one slice is two-dimensional.

mod axis;
mod convolution;
mod nonuniform;
mod spectral;

pub use axis::good_size;
pub use convolution::{Convolution, KernelSpectrum, kernel_size, padded_size};
pub use nonuniform::NonuniformTransform;
pub use spectral::{SpectralConvolution, SpectralKernels, num_frequencies as num_spectral_frequencies};
