//! A scanner of four crystals, and files of its events.

use std::fs;
use std::path::{Path, PathBuf};

/// Words of 32 bits.
pub enum Word {
    U(u32),
    F(f32),
    Byte(u8),
}

pub fn bytes_of_words(words: &[Word]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in words {
        match word {
            Word::U(value) => bytes.extend(value.to_le_bytes()),
            Word::F(value) => bytes.extend(value.to_le_bytes()),
            Word::Byte(value) => bytes.push(*value),
        }
    }
    bytes
}

/// The text of a table of four crystals of 2 × 4 × 6 mm, 10 mm from the axis.
pub const SQUARE: &str = "scanner name: SQUARE\nmodality: PET\nnumber of elements: 4\nnumber of layers: 1\n\
                                 number of crystals in layer(s): 4\ncrystals size depth: 2\ncrystals size transaxial: 4\n\
                                 crystals size axial: 6\n";

/// Its look-up table.
pub fn square_lut() -> Vec<u8> {
    let crystals = [[10.0f32, 0.0], [0.0, 10.0], [-10.0, 0.0], [0.0, -10.0]];
    let numbers = crystals.into_iter().flat_map(|[x, y]| [x, y, 0.0, x / 10.0, y / 10.0, 0.0]);
    numbers.flat_map(f32::to_le_bytes).collect()
}

/// A list beside its scanner's table.
pub fn put_square(folder: &Path) {
    fs::write(folder.join("SQUARE.hscan"), SQUARE).unwrap();
    fs::write(folder.join("SQUARE.lut"), square_lut()).unwrap();
}

/// A CASToR header beside its data and its scanner.
pub fn put_castor(folder: &Path, header: &str, data: &[u8]) -> PathBuf {
    put_square(folder);
    fs::write(folder.join("a.Cdf"), data).unwrap();
    let path = folder.join("a.Cdh");
    fs::write(&path, header).unwrap();
    path
}
