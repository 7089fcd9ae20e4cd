//! Palettes: colours of the values between bottom and top of the window.
//!
//! Hot iron, PET, hot metal blue and PET 20 step are the tables of DICOM PS3.6, annex B. Grey values, NIH and the signed ramp are
//! piecewise linear in sRGB and computed here; viridis and inferno come from the `colorous` crate (assets/SOURCES.md).

use super::dicom_palettes::{HOT_IRON, HOT_METAL_BLUE, NUM_COLOURS, PET, PET_20_STEP};

/// Palette. The menu has the order of the rows in the texture.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
pub enum Palette {
    /// White at the bottom, black at the top: common for PET.
    #[default]
    #[strum(serialize = "Inverted grey")]
    InvertedGrey,
    /// Black at the bottom, white at the top.
    Grey,
    /// DICOM's: black, red, orange, white.
    #[strum(serialize = "Hot iron")]
    HotIron,
    /// DICOM's: black, blue and green mixed, purple, orange, white.
    #[strum(serialize = "PET")]
    Pet,
    /// DICOM's: black, blue, red, orange, white.
    #[strum(serialize = "Hot metal blue")]
    HotMetalBlue,
    /// DICOM's: twenty separate colours.
    #[strum(serialize = "PET 20 step")]
    #[serde(rename = "pet-20-step")]
    Pet20Step,
    /// Black, violet, blue, green, yellow, red: the spectrum of NIH Image.
    #[strum(serialize = "NIH")]
    Nih,
    /// Perceptually uniform, dark blue to yellow.
    Viridis,
    /// Perceptually uniform, black over purple and orange to pale yellow.
    Inferno,
    /// One hue, white at the bottom: for an overlay, in which the bottom is transparent.
    Blue,
    /// Blue below the middle, white there, red above: for values of both signs, with a window symmetric about 0.
    #[strum(serialize = "Signed (blue, red)")]
    Signed,
    /// Black, violet, blue, green, yellow, red: an oxygen pressure from 0 to 60 torr has a hue for each 10 torr.
    Oxygen,
}

impl Palette {
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns its row in the palette texture.
    pub fn row(self) -> u32 {
        self as u32
    }

    /// Returns the sRGB colour at `t` in 0..=1.
    pub fn colour(self, t: f64) -> [u8; 3] {
        let t = t.clamp(0.0, 1.0);
        match self {
            Palette::InvertedGrey => ramp(&[(0.0, [255; 3]), (1.0, [0; 3])], t),
            Palette::Grey => ramp(&[(0.0, [0; 3]), (1.0, [255; 3])], t),
            Palette::HotIron => entry(&HOT_IRON, t),
            Palette::Pet => entry(&PET, t),
            Palette::HotMetalBlue => entry(&HOT_METAL_BLUE, t),
            Palette::Pet20Step => entry(&PET_20_STEP, t),
            Palette::Nih => ramp(&NIH, t),
            Palette::Viridis => colorous::VIRIDIS.eval_continuous(t).into_array(),
            Palette::Inferno => colorous::INFERNO.eval_continuous(t).into_array(),
            Palette::Blue => ramp(&[(0.0, [255; 3]), (1.0, BLUE)], t),
            Palette::Signed => ramp(&SIGNED, t),
            Palette::Oxygen => ramp(&OXYGEN, t),
        }
    }

    /// Returns the colours of equal steps, as RGBA. A scales the opacity of an image over another one.
    pub fn table(self) -> Vec<[u8; 4]> {
        (0..NUM_COLOURS)
            .map(|i| {
                let [r, g, b] = self.colour(i as f64 / (NUM_COLOURS - 1) as f64);
                [r, g, b, if self == Palette::Blue { i as u8 } else { 255 }]
            })
            .collect()
    }
}

/// Stops of the NIH palette: position 0..=1 at multiples of 1/255, colour.
const NIH: [(f64, [u8; 3]); 13] = [
    (0.0, [0, 0, 0]),
    (15.0 / 255.0, [85, 0, 170]),
    (31.0 / 255.0, [0, 0, 85]),
    (63.0 / 255.0, [0, 0, 255]),
    (79.0 / 255.0, [0, 85, 255]),
    (95.0 / 255.0, [0, 170, 170]),
    (111.0 / 255.0, [0, 255, 170]),
    (127.0 / 255.0, [0, 255, 0]),
    (143.0 / 255.0, [85, 255, 85]),
    (159.0 / 255.0, [255, 255, 0]),
    (191.0 / 255.0, [255, 85, 0]),
    (217.0 / 255.0, [255, 0, 0]),
    (1.0, [172, 0, 0]),
];

/// Top of the palette of one hue.
const BLUE: [u8; 3] = [0, 90, 200];

const SIGNED: [(f64, [u8; 3]); 5] =
    [(0.0, [8, 32, 110]), (0.25, [70, 140, 215]), (0.5, [250, 250, 250]), (0.75, [225, 100, 70]), (1.0, [105, 0, 25])];

/// Stops of the palette of oxygen, sixths of the window apart; half a step from the bottom a saturated violet.
const OXYGEN: [(f64, [u8; 3]); 8] = [
    (0.0, [20, 0, 30]),
    (1.0 / 12.0, [135, 20, 150]),
    (1.0 / 6.0, [55, 70, 235]),
    (1.0 / 3.0, [0, 190, 220]),
    (0.5, [50, 175, 70]),
    (2.0 / 3.0, [235, 225, 50]),
    (5.0 / 6.0, [245, 135, 25]),
    (1.0, [190, 10, 20]),
];

/// Returns the entry of a table of equal steps.
fn entry(table: &[u32; NUM_COLOURS], t: f64) -> [u8; 3] {
    let [_, r, g, b] = table[(t * (NUM_COLOURS - 1) as f64).round() as usize].to_be_bytes();
    [r, g, b]
}

/// Returns the piecewise linear colour between stops in ascending order.
fn ramp(stops: &[(f64, [u8; 3])], t: f64) -> [u8; 3] {
    let upper = stops.partition_point(|(at, _)| *at < t).clamp(1, stops.len() - 1);
    let ((t0, from), (t1, to)) = (stops[upper - 1], stops[upper]);
    let part = ((t - t0) / (t1 - t0)).clamp(0.0, 1.0);
    std::array::from_fn(|c| (f64::from(from[c]) + part * (f64::from(to[c]) - f64::from(from[c]))).round() as u8)
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn ends_and_middles_are_the_stops() {
        assert_eq!(Palette::InvertedGrey.colour(0.0), [255; 3]);
        assert_eq!(Palette::InvertedGrey.colour(1.0), [0; 3]);
        assert_eq!(Palette::Grey.colour(0.5), [128; 3]);
        assert_eq!(Palette::Nih.colour(127.0 / 255.0), [0, 255, 0]);
        assert_eq!(Palette::Nih.colour(1.0), [172, 0, 0]);
        assert_eq!(Palette::Signed.colour(0.5), [250; 3]);
        assert_eq!(Palette::Viridis.colour(-1.0), Palette::Viridis.colour(0.0));
    }

    /// SHA-256 of the 256 red, green and blue values in turn, of the palettes as pydicom 3.0.2 carries them in DICOM files of
    /// its own (`data/palettes`).
    #[test]
    fn palettes_of_dicom_are_those_of_its_files() {
        use sha2::Digest as _;
        for (palette, expected) in [
            (Palette::HotIron, "8bba464199e149c18cf501e8174289abf693e5af4a7db4c1602ad48dd4338dda"),
            (Palette::Pet, "bc03f513531e405c3535f0e0d42ab86fb4d7df84fc02f2cd96e75c364b460145"),
            (Palette::HotMetalBlue, "a421277b84abae409188b25c2fba742ad459dc30356a4aebd37ceb33a94718f9"),
            (Palette::Pet20Step, "6f4f77ec9646ab6c536f1abe9e755ab548dfd0a4e71c4bfe130be2bd355c54ac"),
        ] {
            let bytes: Vec<u8> = palette.table().iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect();
            let hash: String = sha2::Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hash, expected, "{}", palette.name());
        }
    }

    /// Ends, bends and steps, one by one.
    #[test]
    fn entries_of_dicom_are_at_their_indices() {
        for (palette, index, colour) in [
            (Palette::HotIron, 1, [2, 0, 0]),
            (Palette::HotIron, 128, [255, 0, 0]),
            (Palette::HotIron, 192, [255, 128, 4]),
            (Palette::Pet, 63, [0, 128, 125]),
            (Palette::Pet, 128, [128, 0, 255]),
            (Palette::HotMetalBlue, 85, [0, 0, 167]),
            (Palette::HotMetalBlue, 170, [255, 96, 0]),
            (Palette::Pet20Step, 12, [0, 0, 0]),
            (Palette::Pet20Step, 13, [96, 0, 80]),
            (Palette::Pet20Step, 255, [255; 3]),
        ] {
            assert_eq!(palette.table()[index][..3], colour, "{} {index}", palette.name());
        }
        let steps: std::collections::HashSet<[u8; 4]> = Palette::Pet20Step.table().into_iter().collect();
        assert_eq!(steps.len(), 20);
    }

    #[test]
    fn rows_follow_the_menu() {
        for (row, palette) in Palette::VARIANTS.iter().enumerate() {
            assert_eq!(palette.row() as usize, row);
            assert_eq!(palette.table().len(), NUM_COLOURS);
        }
    }
}
