//! A number that identifies inputs.

use crate::data::volume::Volume;
use crate::geometry::Grid;

/// 2⁸⁸ + 2⁸ + 59, and where nothing was taken in yet: those of FNV-1a with 128 bits (draft-eastlake-fnv).
const PRIME: u128 = (1 << 88) + 0x13b;
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

/// A hash of numbers in their order: FNV-1a of 64-bit words instead of bytes. It is the same in every run and on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(u128);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(BASIS)
    }
}

impl Fingerprint {
    /// A whole number.
    pub fn whole(&mut self, value: u64) {
        self.0 = (self.0 ^ u128::from(value)).wrapping_mul(PRIME);
    }

    /// Any number.
    pub fn number(&mut self, value: f64) {
        self.whole(value.to_bits());
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.whole(text.len() as u64);
        text.bytes().for_each(|byte| self.whole(byte.into()));
    }

    /// Numbers, and how many.
    pub fn numbers(&mut self, values: &[f32]) {
        self.whole(values.len() as u64);
        let bits = |value: &f32| u64::from(value.to_bits());
        values.chunks(2).for_each(|pair| self.whole(pair.iter().fold(0, |word, value| word << 32 | bits(value))));
    }

    /// A grid.
    pub fn grid(&mut self, grid: &Grid) {
        grid.size.iter().for_each(|size| self.whole(*size as u64));
        grid.voxel_mm.iter().chain(&grid.origin_mm).for_each(|mm| self.number(*mm));
    }

    /// An image.
    pub fn volume(&mut self, volume: &Volume) {
        self.grid(&volume.grid);
        self.numbers(volume.as_slice());
    }

    /// Returns its 32 digits.
    pub fn digits(&self) -> String {
        format!("{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(take: impl Fn(&mut Fingerprint)) -> String {
        let mut fingerprint = Fingerprint::default();
        take(&mut fingerprint);
        fingerprint.digits()
    }

    #[test]
    fn it_follows_its_definition_and_distinguishes_inputs() {
        assert_eq!(of(|_| ()), "6c62272e07bb014262b821756295c58d");
        // One word of a byte is FNV-1a of that byte: the value of "a" in the draft.
        assert_eq!(of(|f| f.whole(u64::from(b'a'))), "d228cb696f1a8caf78912b704e4a8964");
        let all = [
            of(|f| f.numbers(&[1.0, 2.0])),
            of(|f| f.numbers(&[2.0, 1.0])),
            of(|f| f.numbers(&[1.0])),
            of(|f| f.numbers(&[1.0, 0.0])),
            of(|f| f.numbers(&[-0.0])),
            of(|f| f.numbers(&[0.0])),
            of(|f| (f.text("ab"), f.text("c")).0),
            of(|f| (f.text("a"), f.text("bc")).0),
            of(|f| f.number(1.0)),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "{index}");
        }
    }
}
