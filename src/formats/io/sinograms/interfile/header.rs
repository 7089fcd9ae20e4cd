//! The text of a header as keys and values.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::data::Notice;
use crate::io::bytes::{ByteOrder, NumberFormat, NumberType, check_pair, read_text, regular_file_len};
use crate::io::error::{IoError, Refusal};
use crate::io::notice;
use crate::io::sinograms::interfile::problem::InterfileProblem;
use crate::io::sinograms::interfile::spelling::difference;
use crate::text::shortened;

/// Largest header that is read; real ones have a few kilobytes.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Largest count that a header may give: what STIR's 32-bit integers hold.
const MAX_COUNT: u64 = i32::MAX as u64;

/// Name of the comment line that ties the data file to the header; other programs skip comments.
pub const CHECKSUM: &str = "tomoscope data checksum";

/// Key of a correction with the checksum of the data of its scan.
pub const OF_SCAN: &str = "tomoscope checksum of the corrected data";

/// Key of a correction with its contents.
pub const CONTENTS: &str = "tomoscope correction contains";

/// Key of a scan with the share of its time in that of the whole scan.
pub const SHARE: &str = "tomoscope share of the scan";

/// Keys of a scan with weight (kg), height (m) and sex of the patient.
pub const PATIENT: [&str; 3] = ["tomoscope patient weight (kg)", "tomoscope patient height (m)", "tomoscope patient sex"];

/// Bytes of a block of Interfile's `data starting block`.
const BLOCK_BYTES: u64 = 2048;

/// Keys of the byte order: Interfile's, and Siemens' of images.
const BYTE_ORDER: [&str; 2] = ["imagedata byte order", "image data byte order"];

/// Keys of the slope of stored numbers: STIR's and Interfile's, CASToR's, XMedCon's.
const SLOPES: [&str; 3] = ["image scaling factor", "data rescale slope", "rescale slope"];

/// Keys of the intercept of stored numbers: CASToR's, XMedCon's.
const INTERCEPTS: [&str; 3] = ["data rescale offset", "rescale offset", "rescale intercept"];

/// Key of the slope of stored numbers as several programs write it, where another reads a unit.
const UNITS: &str = "quantification units";

/// Keys that count what one file can hold several of.
const SEVERAL: [(&str, &str); 5] = [
    ("number of time frames", "time frames"),
    ("number of image data types", "types of image"),
    ("number of energy windows", "energy windows"),
    ("number of time slots", "time slots"),
    ("number of gates", "gates"),
];

/// Beginning of the program's own keys.
const OWN: &str = "tomoscope ";

/// A parsed header.
pub struct Header {
    /// The header's own path.
    pub path: PathBuf,
    pub(super) entries: Vec<Entry>,
    /// The program's own entries, in comments.
    own: Vec<Entry>,
    /// The keys that the reader of this header has looked for.
    pub(super) known: RefCell<BTreeSet<String>>,
}

pub(super) struct Entry {
    /// Lower case, single spaces, no `!`.
    pub key: String,
    /// i of `key[i]`.
    pub index: Option<usize>,
    pub value: String,
    /// The whole line.
    pub line: String,
}

/// Where the numbers are and how they are stored.
pub struct DataSource {
    /// The data file.
    pub path: PathBuf,
    /// First byte of the first number.
    pub offset: u64,
    /// Type, byte order, scale.
    pub format: NumberFormat,
}

impl Header {
    /// Reads and parses a header.
    pub fn read(path: &Path) -> Result<Self, IoError> {
        // (Line ends of all systems.)
        let text = read_text(path, MAX_HEADER_BYTES)?.replace("\r\n", "\n").replace('\r', "\n").replace("\\\n", "");
        if text.trim().is_empty() {
            return Err(IoError::unsupported(path, InterfileProblem::EmptyHeader));
        }
        let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with(';'));
        let first = lines.next().unwrap_or_default();
        if split_line(first).is_none_or(|entry| entry.key != "interfile") {
            return Err(IoError::NotInterfile(path.to_owned(), shortened(first)));
        }
        let entries = lines.filter_map(split_line).take_while(|entry| entry.key != "end of interfile").collect();
        let comments = text.lines().filter_map(|line| line.trim_start().strip_prefix(';'));
        let own = comments.filter_map(split_line).filter(|entry| entry.key.starts_with(OWN)).collect();
        Ok(Self { path: path.to_owned(), entries, own, known: RefCell::default() })
    }

    /// Returns the value of a key of the program's own.
    pub fn own(&self, key: &str) -> Option<&str> {
        self.own.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str())
    }

    /// Returns the value of `key[index]`, or of `key` without an index; the last one counts. An empty value is none.
    pub fn text_at(&self, key: &str, index: usize) -> Option<&str> {
        self.find(key, |found| found == Some(index)).or_else(|| self.text(key))
    }

    /// Returns the value of `key`; the last one counts. An empty value is none.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.find(key, |found| found.is_none())
    }

    /// Returns all values of keys without an index or with index 1, each with its key; empty values are left out.
    pub fn values(&self, is_key: impl Fn(&str) -> bool) -> impl Iterator<Item = (String, &str)> {
        let of_key = self.entries.iter().filter(move |entry| is_key(&entry.key));
        let entries = of_key.inspect(|entry| self.know(&entry.key)).filter(|entry| !entry.value.is_empty());
        entries.filter_map(|entry| match entry.index {
            None => Some((entry.key.clone(), entry.value.as_str())),
            Some(1) => Some((format!("{} [1]", entry.key), entry.value.as_str())),
            Some(_) => None,
        })
    }

    /// Counts a key among those that the reader understands.
    pub fn know(&self, key: &str) {
        if !self.known.borrow().contains(key) {
            self.known.borrow_mut().insert(key.to_owned());
        }
    }

    fn find(&self, key: &str, index: impl Fn(Option<usize>) -> bool) -> Option<&str> {
        self.know(key);
        let entry = self.entries.iter().rev().find(|entry| entry.key == key && index(entry.index))?;
        Some(entry.value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns the value of `key` in lower case with single spaces, for comparison.
    pub fn word(&self, key: &str) -> Option<String> {
        self.text(key).map(plain)
    }

    /// Returns a number, if the header has the key.
    pub fn number(&self, key: &str) -> Result<Option<f64>, IoError> {
        self.text(key).map(|text| self.parse(key, text, "a number")).transpose()
    }

    /// Returns element `index` of a vector of numbers, if the header has it.
    pub fn number_at(&self, key: &str, index: usize) -> Result<Option<f64>, IoError> {
        self.text_at(key, index).map(|text| self.parse(&format!("{key} [{index}]"), text, "a number")).transpose()
    }

    /// Returns a count of at least 1, if the header has the key.
    pub fn count(&self, key: &str) -> Result<Option<usize>, IoError> {
        self.text(key).map(|text| self.parse_count(key, text)).transpose()
    }

    /// Returns a list of counts of at least 1: element `index` of a vector of lists.
    pub fn counts_at(&self, key: &str, index: usize) -> Result<Vec<usize>, IoError> {
        let name = format!("{key} [{index}]");
        let text = self.text_at(key, index).ok_or_else(|| self.missing(&name, "add it"))?;
        list(text).map(|item| self.parse_count(&name, item)).collect()
    }

    /// Returns a single count: element `index` of a vector of lists.
    pub fn count_at(&self, key: &str, index: usize) -> Result<usize, IoError> {
        match self.counts_at(key, index)?[..] {
            [count] => Ok(count),
            _ => Err(self.invalid(&format!("{key} [{index}]"), self.text_at(key, index).unwrap_or_default(), "a single number")),
        }
    }

    /// Returns a list of integers.
    pub fn integers(&self, key: &str) -> Result<Vec<i32>, IoError> {
        let text = self.text(key).ok_or_else(|| self.missing(key, "add it"))?;
        list(text).map(|item| self.parse(key, item, "a list of whole numbers")).collect()
    }

    /// Returns the items of a list of words, in lower case with single spaces; `None` if the key is missing.
    pub fn words(&self, key: &str) -> Option<Vec<String>> {
        self.text(key).map(|text| list(text).map(plain).collect())
    }

    fn parse_count(&self, key: &str, text: &str) -> Result<usize, IoError> {
        let expected = &format!("a whole number from 1 to {MAX_COUNT}");
        let count: u64 = self.parse(key, text, expected)?;
        if (1..=MAX_COUNT).contains(&count) { Ok(count as usize) } else { Err(self.invalid(key, text, expected)) }
    }

    fn parse<T: FromStr>(&self, key: &str, text: &str, expected: &str) -> Result<T, IoError> {
        text.trim().parse().map_err(|_| self.invalid(key, text, expected))
    }

    /// Returns the error of a missing key.
    pub fn missing(&self, key: &str, hint: &str) -> IoError {
        let name = key.split_once(" [").map_or(key, |(name, _)| name);
        let known = self.known.borrow();
        // A key that is read later can differ by two letters, as the smallest and the largest ring difference do.
        let is_misspelt = |entry: &&Entry| !known.contains(&entry.key) && difference(&entry.key, name) == Some(1);
        let hint = match self.entries.iter().find(is_misspelt) {
            Some(entry) => format!("{hint}, or correct the line '{}'", shortened(&entry.line)),
            None => hint.to_owned(),
        };
        IoError::MissingKey { path: self.path.clone(), key: key.to_owned(), hint }
    }

    /// Returns the error of an invalid value.
    pub fn invalid(&self, key: &str, found: &str, expected: &str) -> IoError {
        let (path, key, found, expected) = (self.path.clone(), key.to_owned(), shortened(found), expected.to_owned());
        IoError::Value { path, key, found, expected }
    }

    /// Returns the error of unsupported content.
    pub fn unsupported(&self, problem: impl Into<Refusal>) -> IoError {
        IoError::unsupported(&self.path, problem)
    }

    /// Returns a warning that begins with the header's path.
    pub fn warning(&self, text: impl std::fmt::Display) -> Notice {
        notice::warning(&self.path, text)
    }

    /// Returns a warning that begins with the header's path.
    pub fn info(&self, text: impl std::fmt::Display) -> Notice {
        notice::info(&self.path, text)
    }

    /// Returns the data file that the header names.
    pub fn data_file(&self) -> Option<PathBuf> {
        Some(self.path.parent().unwrap_or(Path::new("")).join(self.text("name of data file")?))
    }

    /// Returns the data file, number type, byte order, scale and offset.
    pub fn data_source(&self, notices: &mut Vec<Notice>) -> Result<DataSource, IoError> {
        let path = self.data_file().ok_or_else(|| self.missing("name of data file", "add the data file's name"))?;
        let number_type = self.number_type(notices)?;
        let byte_order = self.byte_order(number_type)?;
        let [scale, intercept] = self.scale()?;
        let format = NumberFormat { number_type, byte_order, scale, intercept };
        Ok(DataSource { path, offset: self.offset()?, format })
    }

    /// Returns the first byte of the data: `data offset in bytes`, or `data starting block`.
    fn offset(&self) -> Result<u64, IoError> {
        const BLOCK: &str = "data starting block";
        let bytes = self.text_at("data offset in bytes", 1);
        let bytes = bytes.map(|text| self.parse("data offset in bytes [1]", text, "a number of bytes")).transpose()?;
        let block: Option<u64> = self.text(BLOCK).map(|text| self.parse(BLOCK, text, "a number of blocks")).transpose()?;
        let of_block = block.map(|block| block.saturating_mul(BLOCK_BYTES));
        match (bytes, of_block) {
            (Some(bytes), Some(of_block)) if of_block != bytes && of_block != 0 => {
                let expected = format!("the same place as 'data offset in bytes', {bytes}, in blocks of {BLOCK_BYTES} bytes");
                Err(self.invalid(BLOCK, self.text(BLOCK).unwrap_or_default(), &expected))
            }
            (bytes, of_block) => Ok(bytes.or(of_block).unwrap_or(0)),
        }
    }

    /// Returns the type of the numbers, without their byte order.
    pub fn number_type(&self, notices: &mut Vec<Notice>) -> Result<NumberType, IoError> {
        let name = match self.word("number format") {
            Some(name) => name,
            // As 4 or 8 bytes both kinds are usual; the wrong one gives an image of nonsense.
            None if self.count("number of bytes per pixel")?.is_some_and(|bytes| bytes >= 4) => {
                return Err(self.missing("number format", "add whether numbers are float, signed integer or unsigned integer"));
            }
            None => {
                notices.push(self.warning("the key 'number format' is missing; Interfile's default, unsigned integer, is taken"));
                "unsigned integer".to_owned()
            }
        };
        let default_bytes = match name.as_str() {
            "short float" => Some(4),
            "long float" => Some(8),
            _ => None,
        };
        let bytes = match self.count("number of bytes per pixel")?.or(default_bytes) {
            Some(bytes) => bytes,
            None => return Err(self.missing("number of bytes per pixel", "add the size of one number, 1, 2, 4 or 8")),
        };
        Ok(match (name.as_str(), bytes) {
            ("float" | "short float", 4) => NumberType::Float32,
            ("float" | "long float", 8) => NumberType::Float64,
            ("signed integer", 1) => NumberType::Int8,
            ("signed integer", 2) => NumberType::Int16,
            ("signed integer", 4) => NumberType::Int32,
            ("signed integer", 8) => NumberType::Int64,
            ("unsigned integer", 1) => NumberType::Uint8,
            ("unsigned integer", 2) => NumberType::Uint16,
            ("unsigned integer", 4) => NumberType::Uint32,
            ("unsigned integer", 8) => NumberType::Uint64,
            ("float" | "short float" | "long float" | "signed integer" | "unsigned integer", _) => {
                let expected = "4 or 8 for float, 1, 2, 4 or 8 for integers";
                return Err(self.invalid("number of bytes per pixel", &bytes.to_string(), expected));
            }
            _ => return Err(self.invalid("number format", &name, "float, signed integer or unsigned integer")),
        })
    }

    fn byte_order(&self, number_type: NumberType) -> Result<ByteOrder, IoError> {
        let mut named = BYTE_ORDER.iter().filter_map(|key| Some((key, self.word(key)?)));
        match (named.next(), named.next()) {
            (Some((_, first)), Some((key, second))) if first != second => {
                Err(self.invalid(key, &second, &format!("{first}, as in '{}'", BYTE_ORDER[0])))
            }
            (Some((key, word)), _) => self.byte_order_of(key, &word),
            (None, _) if number_type.num_bytes() == 1 => Ok(ByteOrder::Little),
            // (Interfile's default is big endian, but nearly all files are in little endian: half of them would be nonsense.)
            (None, _) => Err(self.missing(BYTE_ORDER[0], "add LITTLEENDIAN or BIGENDIAN")),
        }
    }

    /// Returns the byte order that a key's word names.
    ///
    /// # Errors
    /// Another word.
    pub fn byte_order_of(&self, key: &str, word: &str) -> Result<ByteOrder, IoError> {
        match word {
            "littleendian" => Ok(ByteOrder::Little),
            "bigendian" => Ok(ByteOrder::Big),
            found => Err(self.invalid(key, found, "LITTLEENDIAN or BIGENDIAN")),
        }
    }

    /// Returns slope and intercept of the stored numbers. The slope can be the number in `quantification units`, too; a 1 there is none
    /// if another key has a slope.
    fn scale(&self) -> Result<[f64; 2], IoError> {
        let of_units = self.text_at(UNITS, 1).and_then(|text| text.parse::<f64>().ok()).filter(|factor| factor.is_finite());
        let slope = match (self.agreed(&SLOPES)?, of_units) {
            (Some((_, slope)), None | Some(1.0)) => slope,
            (Some((key, slope)), Some(units)) if slope != units => {
                return Err(self.contradiction(key, slope, UNITS, units));
            }
            (Some((_, slope)), _) | (None, Some(slope)) => slope,
            (None, None) => 1.0,
        };
        if slope == 0.0 {
            return Err(self.invalid(SLOPES[0], "0", "another slope: all values would be the same"));
        }
        Ok([slope, self.agreed(&INTERCEPTS)?.map_or(0.0, |(_, intercept)| intercept)])
    }

    /// Returns the number that all of these keys have, one for all parts of the data or equal ones, and the first key; `None` without a
    /// key.
    fn agreed(&self, keys: &[&'static str]) -> Result<Option<(&'static str, f64)>, IoError> {
        let mut agreed = None;
        for (key, text) in keys.iter().filter_map(|key| Some((*key, self.text_at(key, 1)?))) {
            // (Outside of braces a comma is no separator: it would be that of decimals.)
            let items: Vec<&str> = if text.starts_with('{') { list(text).collect() } else { vec![text] };
            for item in items {
                let number: f64 = self.parse(key, item, "a number")?;
                if !number.is_finite() {
                    return Err(self.invalid(key, text, "a finite number"));
                }
                let (first, value) = *agreed.get_or_insert((key, number));
                if value != number {
                    return Err(self.contradiction(first, value, key, number));
                }
            }
        }
        Ok(agreed)
    }

    fn contradiction(&self, key: &'static str, value: f64, other: &'static str, found: f64) -> IoError {
        self.unsupported(InterfileProblem::DifferentFactors(key, value, other, found))
    }

    /// Refuses several time frames, energy windows, gates or image types in one file.
    pub fn refuse_several(&self) -> Result<(), IoError> {
        for (key, what) in SEVERAL {
            let num = self.number(key)?.unwrap_or(1.0);
            if num > 1.0 {
                return Err(self.unsupported(InterfileProblem::SeveralParts(num as usize, what, key)));
            }
        }
        Ok(())
    }

    /// Reports how directions are to be read unless the patient lay head first and supine.
    pub fn patient_position(&self, notices: &mut Vec<Notice>) {
        let orientation = self.word("patient orientation").unwrap_or_else(|| "unknown".to_owned());
        let rotation = self.word("patient rotation").unwrap_or_else(|| "unknown".to_owned());
        match (orientation.as_str(), rotation.as_str()) {
            ("head in", "supine") => {}
            ("unknown", _) | (_, "unknown") => {
                notices.push(self.info("the patient position is missing; head-first supine is assumed"));
            }
            _ => notices.push(self.warning(format!(
                "the patient lay {orientation}, {rotation}; axes are the scanner's and directions are named as for head-first \
                 supine, so left/right, front/back or head/feet may be exchanged"
            ))),
        }
    }
}

impl DataSource {
    /// Checks that the data file holds `num_values` numbers, before anything is allocated for them, and that they are those
    /// that the header was written with.
    pub fn check(&self, header: &Header, num_values: usize, what: &str, notices: &mut Vec<Notice>) -> Result<(), IoError> {
        let missing = |source| IoError::DataFileMissing {
            header: header.path.clone(),
            named: header.text("name of data file").unwrap_or_default().to_owned(),
            data: self.path.clone(),
            source,
        };
        let found = regular_file_len(&self.path).map_err(|error| match error {
            IoError::Open(_, source) => missing(source),
            IoError::NotAFile(..) => missing(io::Error::other("it is not a regular file")),
            other => other,
        })?;
        let bytes = (num_values as u64).checked_mul(self.format.number_type.num_bytes() as u64);
        let expected = bytes.and_then(|bytes| bytes.checked_add(self.offset)).unwrap_or(u64::MAX);
        if found < expected {
            return Err(IoError::TooShort { path: self.path.clone(), what: what.to_owned(), expected, found });
        }
        if found > expected {
            let data = self.path.display();
            notices.push(header.warning(format!(
                "{data} has {found} bytes, {} more than the {expected} that the header describes ({what}); the rest is left unread",
                found - expected
            )));
        }
        header.own(CHECKSUM).map_or(Ok(()), |recorded| check_pair(&header.path, &self.path, expected, recorded))
    }
}

/// Returns key, index and value of a line; `None` for a line without `:=`.
fn split_line(line: &str) -> Option<Entry> {
    let (left, value) = line.split_once(":=")?;
    let key = plain(left);
    let indexed = key.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')).and_then(|(name, index)| {
        let index = index.trim().parse().ok()?;
        Some((name.trim_end().to_owned(), index))
    });
    let (value, line) = (value.trim().to_owned(), line.trim().to_owned());
    Some(match indexed {
        Some((key, index)) => Entry { key, index: Some(index), value, line },
        None => Entry { key, index: None, value, line },
    })
}

/// Returns a text in lower case, with runs of spaces, underscores and `!` as one space.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c == '_' || c == '!').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the items of `{a, b}`, or a lone value.
fn list(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    inner.split(',').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_same_however_they_are_spaced() {
        for line in ["!matrix size [2] := 96", "Matrix_Size[2]:=96", "  !MATRIX   size  [ 2 ]  :=   96  "] {
            let entry = split_line(line).unwrap();
            assert_eq!((entry.key.as_str(), entry.index, entry.value.as_str()), ("matrix size", Some(2), "96"), "{line}");
        }
        let entry = split_line("image duration (sec)[1] := 60").unwrap();
        assert_eq!((entry.key.as_str(), entry.index), ("image duration (sec)", Some(1)));
        assert!(split_line("no value here").is_none());
    }

    #[test]
    fn lists_may_have_spaces_or_no_braces() {
        assert_eq!(list("{ 12,13 , 14}").collect::<Vec<_>>(), ["12", "13", "14"]);
        assert_eq!(list("7").collect::<Vec<_>>(), ["7"]);
    }
}
