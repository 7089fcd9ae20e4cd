//! Which vector instructions the processor has, found when the program runs; and its cache hint.

use strum::VariantArray as _;

/// A level of vector instructions that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
pub enum Simd {
    /// Instructions that the target always has.
    #[strum(serialize = "portable")]
    Portable,
    /// 256-bit vectors with fused multiply-add.
    #[strum(serialize = "AVX2")]
    Avx2,
    /// 512-bit registers and their instructions.
    #[strum(serialize = "AVX-512")]
    Avx512,
}

impl Simd {
    /// The best level of this processor.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
            let avx512 = std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512vl")
                && std::arch::is_x86_feature_detected!("avx512dq")
                && std::arch::is_x86_feature_detected!("avx512bw");
            if avx2 && avx512 {
                return Simd::Avx512;
            }
            if avx2 {
                return Simd::Avx2;
            }
        }
        Simd::Portable
    }

    /// The level at which axial runs are fastest: 256-bit registers even where there are wider ones. Their rows begin at
    /// any lane, and a 64-byte access that is not aligned touches two cache lines (5–20 % slower on Zen 5, which
    /// `bench projector --all-simd` shows).
    pub fn fastest() -> Self {
        Self::detect().min(Simd::Avx2)
    }

    /// All levels that this processor has, for tests and benchmarks.
    pub fn available() -> Vec<Self> {
        Self::VARIANTS.iter().copied().filter(|level| *level <= Self::detect()).collect()
    }

    /// Returns its name in the description of the device.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Calls values into the cache before they are needed. Has no effect but on time.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch(values: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in values.chunks(16) {
        // SAFETY: a prefetch reads nothing and cannot fault; the address lies inside `values`.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
