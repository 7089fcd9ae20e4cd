//! Colours of DICOM: CIELab (PS3.3, C.10.7.1.1) as red, green and blue.
//!
//! The standard's white is D50; dcmtk, highdicom and pixelmed write values relative to D65, the white of sRGB. D65 is used, so that
//! their colours come back.

/// White of sRGB, D65 (IEC 61966-2-1).
const WHITE: [f64; 3] = [0.950_47, 1.0, 1.088_83];

/// Linear sRGB from XYZ (IEC 61966-2-1).
const LINEAR: [[f64; 3]; 3] = [[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]];

/// Returns red, green and blue of a CIELab value in 16-bit numbers: L* 0 … 100, a* and b* −128 … 127.
pub fn rgb(encoded: [f64; 3]) -> [u8; 3] {
    let [l, a, b] = encoded.map(|number| number / f64::from(u16::MAX));
    let (l, a, b) = (100.0 * l, 255.0 * a - 128.0, 255.0 * b - 128.0);
    let y = (l + 16.0) / 116.0;
    let xyz = [y + a / 500.0, y, y - b / 200.0].map(relative);
    LINEAR.map(|row| {
        let linear: f64 = (0..3).map(|k| row[k] * WHITE[k] * xyz[k]).sum();
        // The curve of sRGB (IEC 61966-2-1).
        let linear = linear.clamp(0.0, 1.0);
        let value = if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
        (255.0 * value).round() as u8
    })
}

/// Returns a tristimulus value relative to white from its place on the scale of L* (CIE 15:2004, 8.2.1).
fn relative(place: f64) -> f64 {
    let limit = 6.0 / 29.0;
    if place > limit { place.powi(3) } else { 3.0 * limit * limit * (place - 4.0 / 29.0) }
}
