//! Palettes: the colour of a value between the bottom and the top of the window.
//!
//! Grey values and the hot-iron, PET and signed ramps are piecewise linear in sRGB and computed here; viridis and inferno come
//! from the `colorous` crate (assets/SOURCES.md).

/// Colours of each palette.
pub const NUM_COLOURS: usize = 256;

/// A palette. The order of the menu is that of the rows in the texture.
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
    /// White at the bottom, black at the top: how PET is read.
    #[default]
    #[strum(serialize = "Inverted grey")]
    InvertedGrey,
    /// Black at the bottom, white at the top.
    Grey,
    /// Black, red, orange, yellow, white.
    #[strum(serialize = "Hot iron")]
    HotIron,
    /// Perceptually uniform, dark blue to yellow.
    Viridis,
    /// Perceptually uniform, black over purple and orange to pale yellow.
    Inferno,
    /// Black, blue, cyan, green, yellow, red, white.
    #[strum(serialize = "PET rainbow")]
    Pet,
    /// Blue below the middle, white there, red above: for values of both signs, with a window symmetric about 0.
    #[strum(serialize = "Signed (blue, red)")]
    Signed,
}

impl Palette {
    /// Name for people.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Row in the palette texture.
    pub fn row(self) -> u32 {
        self as u32
    }

    /// sRGB colour at `t` in 0..=1.
    pub fn colour(self, t: f64) -> [u8; 3] {
        let t = t.clamp(0.0, 1.0);
        match self {
            Palette::InvertedGrey => ramp(&[(0.0, [255; 3]), (1.0, [0; 3])], t),
            Palette::Grey => ramp(&[(0.0, [0; 3]), (1.0, [255; 3])], t),
            Palette::HotIron => ramp(&HOT_IRON, t),
            Palette::Viridis => colorous::VIRIDIS.eval_continuous(t).into_array(),
            Palette::Inferno => colorous::INFERNO.eval_continuous(t).into_array(),
            Palette::Pet => ramp(&PET, t),
            Palette::Signed => ramp(&SIGNED, t),
        }
    }

    /// The colours of equal steps, as RGBA.
    pub fn table(self) -> Vec<[u8; 4]> {
        (0..NUM_COLOURS)
            .map(|i| {
                let [r, g, b] = self.colour(i as f64 / (NUM_COLOURS - 1) as f64);
                [r, g, b, 255]
            })
            .collect()
    }
}

const HOT_IRON: [(f64, [u8; 3]); 4] = [(0.0, [0, 0, 0]), (0.5, [255, 0, 0]), (0.75, [255, 128, 0]), (1.0, [255, 255, 255])];

const PET: [(f64, [u8; 3]); 7] = [
    (0.0, [0, 0, 0]),
    (0.17, [0, 0, 160]),
    (0.34, [0, 170, 220]),
    (0.5, [0, 170, 60]),
    (0.67, [240, 220, 0]),
    (0.84, [220, 0, 0]),
    (1.0, [255, 255, 255]),
];

const SIGNED: [(f64, [u8; 3]); 5] =
    [(0.0, [8, 32, 110]), (0.25, [70, 140, 215]), (0.5, [250, 250, 250]), (0.75, [225, 100, 70]), (1.0, [105, 0, 25])];

/// Piecewise linear colour between stops in ascending order.
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
        assert_eq!(Palette::HotIron.colour(0.5), [255, 0, 0]);
        assert_eq!(Palette::Pet.colour(1.0), [255; 3]);
        assert_eq!(Palette::Signed.colour(0.5), [250; 3]);
        assert_eq!(Palette::Viridis.colour(-1.0), Palette::Viridis.colour(0.0));
    }

    #[test]
    fn rows_follow_the_menu() {
        for (row, palette) in Palette::VARIANTS.iter().enumerate() {
            assert_eq!(palette.row() as usize, row);
            assert_eq!(palette.table().len(), NUM_COLOURS);
        }
    }
}
