//! The lengths of the sides of right-angled triangles, for the whole program: `f64::hypot` of the standard library calls the `hypot` of
//! the C library, which in glibc has a version (2.35) that RHEL 9 and its relatives have not. The linker takes these in its place, in
//! the code of other packages, too; and the value no longer depends on the version of glibc.

#![allow(unsafe_code)]

// SAFETY: the symbols of the C library with its signatures and its results to rounding.
#[unsafe(no_mangle)]
extern "C" fn hypot(x: f64, y: f64) -> f64 {
    libm::hypot(x, y)
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn hypotf(x: f32, y: f32) -> f32 {
    libm::hypotf(x, y)
}
