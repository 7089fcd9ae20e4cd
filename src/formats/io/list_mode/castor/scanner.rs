//! CASToR's tables of crystals: a look-up table (`.lut`: six 32-bit floats per crystal, its middle and the unit vector along its depth,
//! outwards) with its text (`.hscan`), or rules from which one is made (`.geom`).

use std::path::Path;

use super::geom;
use super::header::Header;
use super::keys::Keys;
use super::layer::Layer;
use crate::io::bytes::regular_file_len;
use crate::io::error::IoError;
use crate::io::list_mode::castor::problem::CastorProblem;
use crate::io::list_mode::options::ListOptions;
use crate::io::own::crystals::{Crystals, read_crystals};
use crate::scanner::{Crystal, Detectors};

/// Bytes of a crystal in a look-up table.
pub(super) const CRYSTAL_BYTES: u64 = 24;

/// Most crystals that a table may have.
pub(super) const MAX_CRYSTALS: u64 = 1 << 24;

/// Reads a table: `.hscan` or `.lut` (each with the other, or the latter alone), `.geom`, or the program's own.
///
/// # Errors
/// Another file, one that is too short or too long, or an invalid crystal.
pub(in crate::io::list_mode) fn read(path: &Path) -> Result<Crystals, IoError> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match ending.as_str() {
        "toml" => read_crystals(path),
        "geom" => {
            let keys = Keys::read(path)?;
            let layers = layers(&keys, geom::num_per_layer)?;
            table(&keys, geom::crystals(&keys, &layers)?)
        }
        "hscan" => with_text(path, &path.with_extension("lut")),
        "lut" if path.with_extension("hscan").is_file() => with_text(&path.with_extension("hscan"), path),
        "lut" => {
            let num = regular_file_len(path)? / CRYSTAL_BYTES;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let crystals = look_up_table(path, &[Layer { num_crystals: num, size_mm: [0.0; 3], interaction_mm: None }])?;
            let detectors = Detectors::new(name, crystals).map_err(|source| IoError::Detectors(path.into(), source))?;
            Ok(Crystals { detectors, min_angle_deg: 0.0 })
        }
        _ => Err(IoError::Extension {
            path: path.to_owned(),
            what: "a scanner's table of crystals",
            understood: "a look-up table (.lut, with its .hscan) or rules (.geom), as CASToR has them, or the program's own (.crystals.toml)".into(),
        }),
    }
}

fn with_text(text: &Path, lut: &Path) -> Result<Crystals, IoError> {
    let keys = Keys::read(text)?;
    let layers = layers(&keys, |keys, num| keys.per_layer("number of crystals in layer", num, None))?;
    table(&keys, look_up_table(lut, &layers)?)
}

fn table(keys: &Keys, crystals: Vec<Crystal>) -> Result<Crystals, IoError> {
    let name = keys.required("scanner name")?;
    let detectors = Detectors::new(name, crystals).map_err(|source| IoError::Detectors(keys.path.clone(), source))?;
    let min_angle_deg = keys.one("min angle difference", Some(0.0))?;
    Ok(Crystals { detectors, min_angle_deg })
}

/// Returns the layers of a text, whose crystals must add up to its number of elements.
fn layers(keys: &Keys, num_per_layer: impl FnOnce(&Keys, usize) -> Result<Vec<u64>, IoError>) -> Result<Vec<Layer>, IoError> {
    let num_layers: usize = keys.one("number of layers", Some(1))?;
    if !(1..=1000).contains(&num_layers) {
        return Err(keys.invalid("number of layers", &num_layers.to_string(), "a number from 1 to 1000"));
    }
    let depth = keys.per_layer("crystals size depth", num_layers, None)?;
    let tangential = keys.per_layer("crystals size trans", num_layers, Some(0.0))?;
    let axial = keys.per_layer("crystals size axial", num_layers, Some(0.0))?;
    let interaction: Vec<f64> = keys.per_layer("mean depth of interaction", num_layers, Some(-1.0))?;
    let nums = num_per_layer(keys, num_layers)?;
    let sum = nums.iter().try_fold(0u64, |sum, &num| sum.checked_add(num));
    let num_elements: u64 = keys.one("number of elements", None)?;
    if sum != Some(num_elements) || num_elements > MAX_CRYSTALS {
        let all = sum.map_or_else(|| "too many".to_owned(), |sum| sum.to_string());
        let expected = format!("the number of crystals of all layers ({all}, at most {MAX_CRYSTALS})");
        return Err(keys.invalid("number of elements", &num_elements.to_string(), &expected));
    }
    let layer = |layer: usize| Layer {
        num_crystals: nums[layer],
        size_mm: [depth[layer], tangential[layer], axial[layer]],
        interaction_mm: Some(interaction[layer]).filter(|mm| *mm >= 0.0),
    };
    Ok((0..num_layers).map(layer).collect())
}

fn look_up_table(path: &Path, layers: &[Layer]) -> Result<Vec<Crystal>, IoError> {
    let num: u64 = layers.iter().map(|layer| layer.num_crystals).sum();
    let (found, expected) = (regular_file_len(path)?, num * CRYSTAL_BYTES);
    if found != expected || num > MAX_CRYSTALS {
        let problem = CastorProblem::TableSize { found, num, size: CRYSTAL_BYTES, max: MAX_CRYSTALS };
        return Err(IoError::unsupported(path, problem));
    }
    let bytes = std::fs::read(path).map_err(IoError::read(path))?;
    let layer_of = layers.iter().flat_map(|layer| std::iter::repeat_n(layer, layer.num_crystals as usize));
    let crystals = bytes.as_chunks::<{ CRYSTAL_BYTES as usize }>().0.iter().zip(layer_of).map(|(record, layer)| {
        let (numbers, _) = record.as_chunks::<4>();
        let number = |at: usize| f64::from(f32::from_le_bytes(numbers[at]));
        layer.crystal([0, 1, 2].map(number), [3, 4, 5].map(number))
    });
    Ok(crystals.collect())
}

/// Returns the table of a header's scanner: that of the options, or one with the scanner's name in the folder of the header.
pub(super) fn table_of(header: &Header, options: &ListOptions) -> Result<Crystals, IoError> {
    let in_folder = |ending: &str| header.path.with_file_name(format!("{}.{ending}", header.scanner));
    let found = options
        .scanner
        .clone()
        .or_else(|| ["hscan", "geom", "crystals.toml"].map(in_folder).into_iter().find(|path| path.is_file()));
    match found {
        Some(path) => read(&path),
        None => Err(IoError::unsupported(&header.path, CastorProblem::NoTable(header.scanner.clone()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Point;
    use crate::scanner::axes_of_depth;
    use crate::scanner::find;

    #[test]
    fn the_sides_are_those_of_a_cylinders_crystals() {
        let cylinder = Detectors::of_cylinder(&find("small").unwrap().geometry).unwrap();
        for crystal in cylinder.crystals() {
            let found = axes_of_depth(crystal.axes[0]);
            for (found, expected) in found.as_flattened().iter().zip(crystal.axes.as_flattened()) {
                assert!((found - expected).abs() < 1e-12, "{crystal:?}");
            }
        }
        let [depth, tangential, axial] = axes_of_depth([0.0, 0.0, -1.0]);
        let dot = |a: Point, b: Point| (0..3).map(|i| a[i] * b[i]).sum::<f64>();
        assert!(dot(depth, tangential) == 0.0 && dot(tangential, axial) == 0.0 && dot(axial, axial) == 1.0);
    }

    #[test]
    fn lines_end_at_the_depth_of_interaction() {
        let layer = Layer { num_crystals: 1, size_mm: [20.0, 4.0, 4.0], interaction_mm: Some(4.0) };
        assert_eq!(layer.crystal([100.0, 0.0, 1.0], [1.0, 0.0, 0.0]).centre_mm, [94.0, 0.0, 1.0]);
        let layer = Layer { interaction_mm: None, ..layer };
        assert_eq!(layer.crystal([100.0, 0.0, 1.0], [1.0, 0.0, 0.0]).centre_mm, [100.0, 0.0, 1.0]);
    }
}
