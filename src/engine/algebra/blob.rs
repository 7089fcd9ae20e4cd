//! Blobs: spherical basis functions of compact support.

/// Steps of the table of values.
const STEPS: usize = 4096;

/// The generalized Kaiser-Bessel function of order m = 2 with the radius a and the taper α (Lewitt 1990, J Opt Soc Am A 7:1834;
/// Cabello et al. 2012, equation 2):
///
/// ```text
/// ψ(r) = (√(1 − r²/a²))² I₂(α √(1 − r²/a²)) / I₂(α)   for r ≤ a, else 0
/// ```
///
/// It is read from a table over r²: it is a smooth function of r².
#[derive(Clone, Debug, PartialEq)]
pub struct Blob {
    radius_mm: f64,
    taper: f64,
    values: Vec<f32>,
}

impl Blob {
    /// Makes the blob of Matej and Lewitt 1996 (IEEE Trans Med Imaging 15:68) for points this far apart: a = 1.994 Δ, α = 10.4.
    pub fn for_spacing(spacing_mm: f64) -> Self {
        Self::new(1.994 * spacing_mm, 10.4)
    }

    /// Makes a blob of this radius and taper.
    pub fn new(radius_mm: f64, taper: f64) -> Self {
        let value = |step: usize| {
            let square = 1.0 - step as f64 / STEPS as f64;
            square.max(0.0) * bessel_i2(taper * square.max(0.0).sqrt()) / bessel_i2(taper)
        };
        // One more, so that the last step has an end.
        Self { radius_mm, taper, values: (0..=STEPS + 1).map(|step| value(step) as f32).collect() }
    }

    /// Where it ends, mm.
    pub fn radius_mm(&self) -> f64 {
        self.radius_mm
    }

    /// α.
    pub fn taper(&self) -> f64 {
        self.taper
    }

    /// ψ at a squared distance from its middle, mm².
    #[inline]
    pub fn at_square(&self, square_mm2: f64) -> f64 {
        let place = square_mm2 / (self.radius_mm * self.radius_mm) * STEPS as f64;
        if place >= STEPS as f64 {
            return 0.0;
        }
        let step = place as usize;
        let [low, high] = [self.values[step], self.values[step + 1]].map(f64::from);
        low + (place - step as f64) * (high - low)
    }

    /// ψ at squared distances that are evenly spaced up to the radius, with one value more behind it.
    pub fn table(&self) -> &[f32] {
        &self.values
    }

    /// ∫ ψ over all space, mm³: Simpson's rule over the radius.
    pub fn integral_mm3(&self) -> f64 {
        let num = 2000;
        let at = |i: usize| i as f64 / num as f64 * self.radius_mm;
        let weight = |i: usize| if i == 0 || i == num { 1.0 } else { 2.0 * (1 + i % 2) as f64 };
        let sum: f64 = (0..=num).map(|i| weight(i) * at(i).powi(2) * self.at_square(at(i).powi(2))).sum();
        4.0 * std::f64::consts::PI * sum * self.radius_mm / (3 * num) as f64
    }
}

/// Returns the modified Bessel function I₂ by its series, Σ (x/2)^(2k+2) / (k! (k+2)!).
fn bessel_i2(x: f64) -> f64 {
    let square = 0.25 * x * x;
    let mut term = 0.5 * square;
    let mut sum = term;
    for k in 1..200 {
        term *= square / (k * (k + 2)) as f64;
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bessel_function_has_its_tabulated_values() {
        // Abramowitz and Stegun 1964, table 9.8 and its series.
        for (x, expected) in [(1.0, 0.135_747_669_767_038_3), (5.0, 17.505_614_966_624_236), (10.0, 2_281.518_967_726_004)] {
            assert!((bessel_i2(x) / expected - 1.0).abs() < 1e-12, "{x}");
        }
    }

    #[test]
    fn a_blob_falls_from_1_to_0_and_its_integral_is_the_closed_form() {
        let blob = Blob::for_spacing(0.5);
        assert_eq!(blob.at_square(0.0), 1.0);
        assert_eq!(blob.at_square(blob.radius_mm().powi(2)), 0.0);
        let values: Vec<f64> = (0..100).map(|i| blob.at_square(i as f64 / 100.0)).collect();
        assert!(values.windows(2).all(|pair| pair[1] <= pair[0]));
        // (2π)^(3/2) a³ I₇⸝₂(α) / (I₂(α) α^(3/2)), with I₇⸝₂ in elementary functions.
        let (a, x) = (blob.radius_mm(), blob.taper());
        let i_7_2 = (2.0 / (std::f64::consts::PI * x)).sqrt()
            * ((1.0 + 15.0 / (x * x)) * x.cosh() - (6.0 / x + 15.0 / x.powi(3)) * x.sinh());
        let expected = std::f64::consts::TAU.powf(1.5) * a.powi(3) * i_7_2 / (bessel_i2(x) * x.powf(1.5));
        assert!((blob.integral_mm3() / expected - 1.0).abs() < 1e-6, "{} {expected}", blob.integral_mm3());
    }
}
