//! What tests of lists of events share: small scanners, and reading a list to its end.

use std::fs;
use std::path::{Path, PathBuf};

use tomoscope::data::{EventChunk, Events, ListFacts, Notice};
use tomoscope::io::IoError;
use tomoscope::io::list_mode::{self, EventReader, ListOptions};

/// Words of 32 bits.
pub(super) enum Word {
    U(u32),
    F(f32),
    Byte(u8),
}

pub(super) fn bytes_of_words(words: &[Word]) -> Vec<u8> {
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
pub(super) const SQUARE: &str = "scanner name: SQUARE\nmodality: PET\nnumber of elements: 4\nnumber of layers: 1\n\
                                 number of crystals in layer(s): 4\ncrystals size depth: 2\ncrystals size transaxial: 4\n\
                                 crystals size axial: 6\n";

/// Its look-up table.
pub(super) fn square_lut() -> Vec<u8> {
    let crystals = [[10.0f32, 0.0], [0.0, 10.0], [-10.0, 0.0], [0.0, -10.0]];
    let numbers = crystals.into_iter().flat_map(|[x, y]| [x, y, 0.0, x / 10.0, y / 10.0, 0.0]);
    numbers.flat_map(f32::to_le_bytes).collect()
}

/// A list beside its scanner's table.
pub(super) fn put_square(folder: &Path) {
    fs::write(folder.join("SQUARE.hscan"), SQUARE).unwrap();
    fs::write(folder.join("SQUARE.lut"), square_lut()).unwrap();
}

/// A CASToR header beside its data and its scanner.
pub(super) fn put_castor(folder: &Path, header: &str, data: &[u8]) -> PathBuf {
    put_square(folder);
    fs::write(folder.join("a.Cdf"), data).unwrap();
    let path = folder.join("a.Cdh");
    fs::write(&path, header).unwrap();
    path
}

/// A list that was read.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) facts: std::sync::Arc<ListFacts>,
    pub(super) prompts: Events,
    pub(super) delayeds: Events,
    pub(super) notices: Vec<Notice>,
}

/// Bytes that were read of a file, and bytes that it has.
pub(super) fn progress(reader: &mut dyn EventReader) -> [u64; 2] {
    [reader.stream().place(), reader.stream().len().unwrap()]
}

/// Reads to the end, which must be one.
pub(super) fn drain(mut reader: Box<dyn EventReader>) -> Result<Whole, IoError> {
    let (mut chunk, mut prompts, mut delayeds) = (EventChunk::default(), Events::default(), Events::default());
    while reader.next(&mut chunk)? {
        prompts.extend(&chunk.prompts);
        delayeds.extend(&chunk.delayeds);
        assert!(chunk.prompts.len() <= list_mode::EVENTS_AT_ONCE, "{}", chunk.prompts.len());
    }
    reader.check_end()?;
    let [read, size] = progress(&mut *reader);
    assert_eq!(read, size);
    let notices = reader.notices();
    assert!(reader.notices().is_empty(), "each is told once");
    Ok(Whole { facts: reader.facts().clone(), prompts, delayeds, notices })
}

/// Reads a whole list.
pub(super) fn read_list(path: &Path, options: &ListOptions) -> Result<Whole, IoError> {
    drain(list_mode::open(path, options)?)
}
