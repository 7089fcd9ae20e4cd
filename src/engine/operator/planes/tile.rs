//! The arithmetic of the fast backprojection: a tile of 16 × 16 pixels of a plane image, all projections.
//!
//! Along a row of pixels the position t in a projection grows by a constant; all 256 pixels of a tile together see a few
//! neighbouring samples. So their polynomials are loaded into registers once per tile and projection, and each pixel picks its
//! own by permuting a register: no gather and no load for a pixel. The sums of the tile stay in registers too. A pixel and
//! projection then costs t, its floor, two permutations, a multiply-add and an addition: six operations of 16 lanes.
//!
//! A number is rounded down in a register by adding 1.5·2²³ (its last bits then count units, and are the index as the
//! permutation wants it), rounding towards −∞.
//!
//! Positions are found in double precision for the corner of a tile and continue in single precision, counted from the first
//! sample in the registers: a few millionths of a sample are nothing where a projection is continuous. Where it jumps they are
//! not: at its ends (some tiles) and half-way between samples that are not interpolated, and there every position is found in
//! double precision.

use super::ROUNDING;
use super::table::{Covers, Tables};
use crate::algebra::Simd;

/// Pixels of a tile's side.
pub const SIDE: usize = 16;

/// Sums of a tile's pixels, `[v][u]`.
pub type Tile = [[f32; SIDE]; SIDE];

/// Distance below an interval's beginning at which single precision may put a position on it, in samples.
const SLACK: f64 = 1e-3;

/// Where the pixels of a plane image lie in a row of samples: pixel (u, v) of layer w at origin + step·(u, v, w).
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// Row of the tables.
    pub row: usize,
    /// Position of pixel (0, 0) of layer 0, in samples.
    pub origin: f64,
    /// Change of the position from pixel to pixel along u and v, and from layer to layer, in samples.
    pub step: [f64; 3],
}

impl Address {
    /// Returns the distance between the lowest and the highest position in a part of a tile, samples.
    fn span(&self, [columns, rows]: [usize; 2]) -> f64 {
        (columns - 1) as f64 * self.step[0].abs() + (rows - 1) as f64 * self.step[1].abs()
    }

    /// Returns the position of a pixel.
    #[inline(always)]
    fn position(&self, [u, v, w]: [f64; 3]) -> f64 {
        self.origin + self.step[0] * u + self.step[1] * v + self.step[2] * w
    }

    /// Returns the line over a part of a tile that begins at `corner`, for registers that hold `len` intervals; `None` where it
    /// is outside the projection.
    #[inline(always)]
    fn over(&self, tables: &Tables, corner: [f64; 3], [columns, rows]: [usize; 2], len: usize) -> Option<Place<'_>> {
        let position = self.position(corner);
        let [along_u, along_v] = [(columns - 1) as f64 * self.step[0], (rows - 1) as f64 * self.step[1]];
        let lowest = position + along_u.min(0.0) + along_v.min(0.0);
        let part = tables.part(lowest, position + along_u.max(0.0) + along_v.max(0.0));
        if part == Covers::None {
            return None;
        }
        let first = (lowest + tables.shift - SLACK).floor();
        let to_window = tables.shift - first;
        let last = tables.num_points as f64 - 1.0;
        Some(Place {
            line: self,
            first: first as isize,
            len,
            start: position + to_window,
            has_ends: part == Covers::Some,
            ends: [to_window - ROUNDING, to_window + last + ROUNDING],
        })
    }
}

/// Where a part of a tile lies in a row of samples.
struct Place<'a> {
    line: &'a Address,
    /// First interval of the window in registers, and how many it has.
    first: isize,
    len: usize,
    /// Position of the first pixel, with the tables' shift, counted from the window's beginning like all of these.
    start: f64,
    /// True if some pixels may be beyond an end of the projection.
    has_ends: bool,
    /// The lowest and the highest position on the projection.
    ends: [f64; 2],
}

impl Place<'_> {
    /// Returns the coefficients of the window.
    #[inline(always)]
    fn coefficients<'t>(&self, tables: &'t Tables, power: usize) -> &'t [f32] {
        tables.coefficients(self.line.row, power, self.first, self.len)
    }
}

/// Addresses by the kernel that can read them.
pub struct Addresses {
    /// For registers that hold a whole tile's samples.
    narrow: Vec<Address>,
    /// For twice as many registers.
    wide: Vec<Address>,
    /// Too many samples between pixels: each pixel looks its own up.
    far: Vec<Address>,
    simd: Simd,
}

impl Addresses {
    /// Sorts lines for the instructions that are to be used.
    pub fn new(simd: Simd, lines: impl IntoIterator<Item = Address>) -> Self {
        let mut sorted = Self { narrow: Vec::new(), wide: Vec::new(), far: Vec::new(), simd };
        // Samples that the registers of a kernel hold, and the part of a tile that it does at once.
        let (narrow, wide) = match simd {
            Simd::Avx512 => (Some((32, [SIDE, SIDE])), Some((64, [SIDE, SIDE / 2]))),
            Simd::Avx2 => (Some((16, [SIDE / 2, SIDE / 2])), None),
            Simd::Portable => (None, None),
        };
        for line in lines {
            // The lowest position lies up to an interval, and the slack, above the beginning of the window.
            let fits = |(len, part): (i32, [usize; 2])| line.span(part) + 1.0 + 2.0 * SLACK <= f64::from(len);
            let class = if narrow.is_some_and(fits) {
                &mut sorted.narrow
            } else if wide.is_some_and(fits) {
                &mut sorted.wide
            } else {
                &mut sorted.far
            };
            class.push(line);
        }
        sorted
    }

    /// Adds all lines to the tile whose first pixel is `corner` (u, v, layer).
    #[allow(unsafe_code)]
    pub fn add(&self, tables: &Tables, corner: [f64; 3], tile: &mut Tile) {
        match self.simd {
            // SAFETY: the level is one that was detected on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { avx512::add(self, tables, corner, tile) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { avx2::add(self, tables, corner, tile) },
            _ => self.add_far(tables, corner, tile),
        }
    }

    /// The lines whose pixels look up their own samples.
    #[inline(always)]
    fn add_far(&self, tables: &Tables, corner: [f64; 3], tile: &mut Tile) {
        for line in &self.far {
            for (v, row) in tile.iter_mut().enumerate() {
                for (u, pixel) in row.iter_mut().enumerate() {
                    let position = line.position([corner[0] + u as f64, corner[1] + v as f64, corner[2]]);
                    let Some((interval, fraction)) = tables.interval(position) else { continue };
                    let coefficient = |power| tables.coefficients(line.row, power, interval, 1)[0];
                    let mut value = coefficient(tables.degree);
                    for power in (0..tables.degree).rev() {
                        value = value * fraction as f32 + coefficient(power);
                    }
                    *pixel += value;
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! 512-bit registers: windows of 32 or 64 samples, a row of the tile in each sum.

    use std::arch::x86_64::*;

    use super::{Address, Addresses, Place, SIDE, Tables, Tile};

    /// Rows of the tile that a wide kernel does at once.
    const HALF: usize = SIDE / 2;

    /// A window in registers.
    type Window = [__m512; 4];

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    pub(super) fn add(lines: &Addresses, tables: &Tables, corner: [f64; 3], tile: &mut Tile) {
        match tables.degree {
            0 => add_all::<0>(lines, tables, corner, tile),
            1 => add_all::<1>(lines, tables, corner, tile),
            _ => add_all::<3>(lines, tables, corner, tile),
        }
        lines.add_far(tables, corner, tile);
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    fn add_all<const DEGREE: usize>(lines: &Addresses, tables: &Tables, [u, v, w]: [f64; 3], tile: &mut Tile) {
        if !lines.narrow.is_empty() {
            add_lines::<DEGREE, false, SIDE>(&lines.narrow, tables, [u, v, w], tile);
        }
        if !lines.wide.is_empty() {
            for (half, rows) in tile.as_chunks_mut().0.iter_mut().enumerate() {
                let v = v + (half * HALF) as f64;
                add_lines::<DEGREE, true, HALF>(&lines.wide, tables, [u, v, w], rows);
            }
        }
    }

    /// A window is 64 samples where it is `WIDE`, else 32.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    fn add_lines<const DEGREE: usize, const WIDE: bool, const ROWS: usize>(
        lines: &[Address],
        tables: &Tables,
        corner: [f64; 3],
        rows: &mut [[f32; SIDE]; ROWS],
    ) {
        let lanes = _mm512_setr_ps(0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.);
        let mut sums = [_mm512_setzero_ps(); ROWS];
        for (sum, row) in sums.iter_mut().zip(&*rows) {
            *sum = load(row);
        }
        for line in lines {
            let Some(place) = line.over(tables, corner, [SIDE, ROWS], if WIDE { 64 } else { 32 }) else { continue };
            let mut windows: [Window; 4] = [[_mm512_setzero_ps(); 4]; 4];
            for (power, window) in windows.iter_mut().enumerate().take(DEGREE + 1) {
                *window = load_window::<WIDE>(place.coefficients(tables, power));
            }
            if DEGREE == 1 {
                // The straight lines as they would reach the window's beginning: then t alone is needed, not its fraction.
                let [values, slopes, ..] = &mut windows;
                for (k, (value, slope)) in values.iter_mut().zip(slopes).enumerate() {
                    *value = _mm512_fnmadd_ps(_mm512_add_ps(lanes, _mm512_set1_ps((16 * k) as f32)), *slope, *value);
                }
            }
            if place.has_ends {
                add_windows::<DEGREE, WIDE, true, ROWS>(&windows, &place, &mut sums);
            } else {
                add_windows::<DEGREE, WIDE, false, ROWS>(&windows, &place, &mut sums);
            }
        }
        for (sum, row) in sums.iter().zip(rows) {
            store(row, *sum);
        }
    }

    /// Adds the values that the pixels pick from the windows to their sums; with `ENDS` to those within them.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    #[inline]
    fn add_windows<const DEGREE: usize, const WIDE: bool, const ENDS: bool, const ROWS: usize>(
        windows: &[Window; 4],
        place: &Place<'_>,
        sums: &mut [__m512; ROWS],
    ) {
        let lanes = _mm512_setr_ps(0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.);
        let magic = _mm512_set1_ps(12_582_912.0);
        let [step_u, step_v, _] = place.line.step;
        let first_row = _mm512_fmadd_ps(lanes, _mm512_set1_ps(step_u as f32), _mm512_set1_ps(place.start as f32));
        let step = _mm512_set1_ps(step_v as f32);
        for (v, sum) in sums.iter_mut().enumerate() {
            let t = _mm512_fmadd_ps(step, _mm512_set1_ps(v as f32), first_row);
            let floor = _mm512_add_round_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(t, magic);
            let index = _mm512_castps_si512(floor);
            let added = match DEGREE {
                0 => _mm512_add_ps(*sum, pick::<WIDE>(&windows[0], exact_index(exact_positions(place, v)))),
                1 => {
                    let value = _mm512_add_ps(*sum, pick::<WIDE>(&windows[0], index));
                    _mm512_fmadd_ps(pick::<WIDE>(&windows[1], index), t, value)
                }
                _ => {
                    let fraction = _mm512_sub_ps(t, _mm512_sub_ps(floor, magic));
                    let value = _mm512_fmadd_ps(pick::<WIDE>(&windows[3], index), fraction, pick::<WIDE>(&windows[2], index));
                    let value = _mm512_fmadd_ps(value, fraction, pick::<WIDE>(&windows[1], index));
                    let value = _mm512_fmadd_ps(value, fraction, pick::<WIDE>(&windows[0], index));
                    _mm512_add_ps(*sum, value)
                }
            };
            *sum = if ENDS { _mm512_mask_mov_ps(*sum, inside(place, exact_positions(place, v)), added) } else { added };
        }
    }

    /// Returns the positions of row `v` in double precision.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    #[inline]
    fn exact_positions(place: &Place<'_>, v: usize) -> [__m512d; 2] {
        let [step_u, step_v, _] = place.line.step;
        let start = _mm512_set1_pd(place.start + v as f64 * step_v);
        let lanes = [_mm512_setr_pd(0., 1., 2., 3., 4., 5., 6., 7.), _mm512_setr_pd(8., 9., 10., 11., 12., 13., 14., 15.)];
        lanes.map(|lanes| _mm512_fmadd_pd(lanes, _mm512_set1_pd(step_u), start))
    }

    /// Their whole parts. Where there is nothing to pick they are anything.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    #[inline]
    fn exact_index(positions: [__m512d; 2]) -> __m512i {
        let [low, high] = positions.map(|t| _mm512_cvt_roundpd_epi32::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(t));
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
    }

    /// Which of them lie on the projection.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    #[inline]
    fn inside(place: &Place<'_>, positions: [__m512d; 2]) -> __mmask16 {
        let [first, last] = place.ends.map(|end| _mm512_set1_pd(end));
        let [low, high] = positions.map(|t| {
            let from_first = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(t, first);
            _mm512_mask_cmp_pd_mask::<_CMP_LE_OQ>(from_first, t, last)
        });
        u16::from(low) | u16::from(high) << 8
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    #[inline]
    fn load_window<const WIDE: bool>(values: &[f32]) -> Window {
        let mut window = [_mm512_setzero_ps(); 4];
        for (register, values) in window.iter_mut().zip(values.as_chunks().0).take(if WIDE { 4 } else { 2 }) {
            *register = load(values);
        }
        window
    }

    /// Returns the window's value at an index that counts from its beginning.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    #[inline]
    fn pick<const WIDE: bool>(window: &Window, index: __m512i) -> __m512 {
        let low = _mm512_permutex2var_ps(window[0], index, window[1]);
        if !WIDE {
            return low;
        }
        let high = _mm512_permutex2var_ps(window[2], index, window[3]);
        _mm512_mask_blend_ps(_mm512_test_epi32_mask(index, _mm512_set1_epi32(32)), low, high)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    #[allow(unsafe_code)]
    fn load(values: &[f32; 16]) -> __m512 {
        // SAFETY: the array has 16 values.
        unsafe { _mm512_loadu_ps(values.as_ptr()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    #[allow(unsafe_code)]
    fn store(values: &mut [f32; 16], register: __m512) {
        // SAFETY: the array has 16 values.
        unsafe { _mm512_storeu_ps(values.as_mut_ptr(), register) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! 256-bit registers: windows of 16 samples, the tile in four squares.

    use std::arch::x86_64::*;

    use super::{Address, Addresses, Place, SIDE, Tables, Tile};

    const HALF: usize = SIDE / 2;
    /// Samples of a window.
    const LEN: usize = 16;

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn add(lines: &Addresses, tables: &Tables, corner: [f64; 3], tile: &mut Tile) {
        for v in [0, HALF] {
            for u in [0, HALF] {
                let corner = [corner[0] + u as f64, corner[1] + v as f64, corner[2]];
                let at = [u, v];
                match tables.degree {
                    0 => add_lines::<0>(&lines.narrow, tables, corner, at, tile),
                    1 => add_lines::<1>(&lines.narrow, tables, corner, at, tile),
                    _ => add_lines::<3>(&lines.narrow, tables, corner, at, tile),
                }
            }
        }
        lines.add_far(tables, corner, tile);
    }

    #[target_feature(enable = "avx2,fma")]
    fn add_lines<const DEGREE: usize>(lines: &[Address], tables: &Tables, corner: [f64; 3], [u, v]: [usize; 2], tile: &mut Tile) {
        let lanes = _mm256_setr_ps(0., 1., 2., 3., 4., 5., 6., 7.);
        let mut sums = [_mm256_setzero_ps(); HALF];
        for (sum, row) in sums.iter_mut().zip(&tile[v..]) {
            *sum = load(&row[u..u + HALF]);
        }
        for line in lines {
            let Some(place) = line.over(tables, corner, [HALF, HALF], LEN) else { continue };
            let mut windows = [[_mm256_setzero_ps(); 2]; 4];
            for (power, window) in windows.iter_mut().enumerate().take(DEGREE + 1) {
                let values = place.coefficients(tables, power);
                *window = [load(&values[..8]), load(&values[8..])];
            }
            if DEGREE == 1 {
                let [values, slopes, ..] = &mut windows;
                for (k, (value, slope)) in values.iter_mut().zip(slopes).enumerate() {
                    *value = _mm256_fnmadd_ps(_mm256_add_ps(lanes, _mm256_set1_ps((8 * k) as f32)), *slope, *value);
                }
            }
            if place.has_ends {
                add_windows::<DEGREE, true>(&windows, &place, &mut sums);
            } else {
                add_windows::<DEGREE, false>(&windows, &place, &mut sums);
            }
        }
        for (sum, row) in sums.iter().zip(&mut tile[v..]) {
            store(&mut row[u..u + HALF], *sum);
        }
    }

    /// Adds the values that the pixels pick from the windows to their sums; with `ENDS` to those within them.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn add_windows<const DEGREE: usize, const ENDS: bool>(
        windows: &[[__m256; 2]; 4],
        place: &Place<'_>,
        sums: &mut [__m256; HALF],
    ) {
        let lanes = _mm256_setr_ps(0., 1., 2., 3., 4., 5., 6., 7.);
        let magic = _mm256_set1_ps(12_582_912.0);
        let [step_u, step_v, _] = place.line.step;
        let first_row = _mm256_fmadd_ps(lanes, _mm256_set1_ps(step_u as f32), _mm256_set1_ps(place.start as f32));
        let step = _mm256_set1_ps(step_v as f32);
        for (v, sum) in sums.iter_mut().enumerate() {
            let t = _mm256_fmadd_ps(step, _mm256_set1_ps(v as f32), first_row);
            let floor = _mm256_floor_ps(t);
            let index = _mm256_castps_si256(_mm256_add_ps(floor, magic));
            let added = match DEGREE {
                0 => _mm256_add_ps(*sum, pick(&windows[0], exact_index(exact_positions(place, v)))),
                1 => {
                    let value = _mm256_add_ps(*sum, pick(&windows[0], index));
                    _mm256_fmadd_ps(pick(&windows[1], index), t, value)
                }
                _ => {
                    let fraction = _mm256_sub_ps(t, floor);
                    let value = _mm256_fmadd_ps(pick(&windows[3], index), fraction, pick(&windows[2], index));
                    let value = _mm256_fmadd_ps(value, fraction, pick(&windows[1], index));
                    let value = _mm256_fmadd_ps(value, fraction, pick(&windows[0], index));
                    _mm256_add_ps(*sum, value)
                }
            };
            *sum = if ENDS { _mm256_blendv_ps(added, *sum, outside(place, exact_positions(place, v))) } else { added };
        }
    }

    /// Returns the positions of row `v` in double precision.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn exact_positions(place: &Place<'_>, v: usize) -> [__m256d; 2] {
        let [step_u, step_v, _] = place.line.step;
        let start = _mm256_set1_pd(place.start + v as f64 * step_v);
        let lanes = [_mm256_setr_pd(0., 1., 2., 3.), _mm256_setr_pd(4., 5., 6., 7.)];
        lanes.map(|lanes| _mm256_fmadd_pd(lanes, _mm256_set1_pd(step_u), start))
    }

    /// Their whole parts. Where there is nothing to pick they are anything.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn exact_index(positions: [__m256d; 2]) -> __m256i {
        let [low, high] = positions.map(|t| _mm256_cvttpd_epi32(_mm256_floor_pd(t)));
        _mm256_set_m128i(high, low)
    }

    /// The sign bit is set in those that lie beyond an end of the projection.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn outside(place: &Place<'_>, positions: [__m256d; 2]) -> __m256 {
        let [first, last] = place.ends.map(|end| _mm256_set1_pd(end));
        let [low, high] = positions.map(|t| {
            // Of two distances that are not negative on the projection, the smaller; its sign outlives single precision.
            _mm256_cvtpd_ps(_mm256_min_pd(_mm256_sub_pd(t, first), _mm256_sub_pd(last, t)))
        });
        _mm256_set_m128(high, low)
    }

    /// Returns the window's value at an index that counts from its beginning: bit 3 selects the register.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn pick(window: &[__m256; 2], index: __m256i) -> __m256 {
        let low = _mm256_permutevar8x32_ps(window[0], index);
        let high = _mm256_permutevar8x32_ps(window[1], index);
        _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(index)))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    #[allow(unsafe_code)]
    fn load(values: &[f32]) -> __m256 {
        let values = &values[..8];
        // SAFETY: the slice has 8 values.
        unsafe { _mm256_loadu_ps(values.as_ptr()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    #[allow(unsafe_code)]
    fn store(values: &mut [f32], register: __m256) {
        let values = &mut values[..8];
        // SAFETY: the slice has 8 values.
        unsafe { _mm256_storeu_ps(values.as_mut_ptr(), register) }
    }
}
