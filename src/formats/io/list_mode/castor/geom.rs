//! CASToR's rules for scanners (`.geom`): sectors around the axis, each of modules of submodules of crystals. The first sector is
//! on +y, its first crystal at −x. The next ones follow clockwise (towards +x), or mirrored where the rotation is
//! counter-clockwise.

use super::keys::Keys;
use super::layer::Layer;
use crate::io::error::IoError;
use crate::scanner::Crystal;

/// A row of things inside one another, along one direction: crystals in submodules in modules in a sector (in a row of sectors).
struct Row {
    /// Number of each, the innermost first.
    nums: Vec<u64>,
    /// From the first one's beginning to the next one's, mm.
    steps_mm: Vec<f64>,
}

impl Row {
    fn new(crystal_mm: f64, nums: Vec<u64>, gaps_mm: &[f64]) -> Self {
        let mut size_mm = crystal_mm;
        let step = |(&num, &gap): (&u64, &f64)| {
            let step = size_mm + gap;
            size_mm += num.saturating_sub(1) as f64 * step;
            step
        };
        let steps_mm = nums.iter().zip(gaps_mm).map(step).collect();
        Self { nums, steps_mm }
    }

    /// Returns the middle of a crystal, mm from the row's.
    fn middle_mm(&self, crystal: u64) -> f64 {
        let (mut index, mut mm) = (crystal, 0.0);
        for (&num, step) in self.nums.iter().zip(&self.steps_mm) {
            // The first and the last one are as far from the middle.
            mm += step * ((index % num) as f64 - 0.5 * (num as f64 - 1.0));
            index /= num;
        }
        mm
    }
}

const ALONG: [&str; 4] = ["crystals axial", "submodules axial", "modules axial", "rsectors axial"];
const AROUND: [&str; 3] = ["crystals transaxial", "submodules transaxial", "modules transaxial"];

/// Returns the number of each of these in each layer: `[layer][which]`.
fn nums(keys: &Keys, names: &[&str], num_layers: usize) -> Result<Vec<Vec<u64>>, IoError> {
    let of_each: Vec<Vec<u64>> = names
        .iter()
        .map(|name| {
            let key = format!("number of {name}");
            let default = (!name.starts_with("crystals")).then_some(1);
            let nums = keys.per_layer(&key, num_layers, default)?;
            match nums.iter().find(|num| !(1..=1 << 24).contains(*num)) {
                Some(num) => Err(keys.invalid(&key, &num.to_string(), "a number from 1 on")),
                None => Ok(nums),
            }
        })
        .collect::<Result<_, _>>()?;
    Ok((0..num_layers).map(|layer| of_each.iter().map(|nums| nums[layer]).collect()).collect())
}

/// Returns the gaps between them, mm.
fn gaps(keys: &Keys, names: &[&str], num_layers: usize) -> Result<Vec<Vec<f64>>, IoError> {
    let gap = |name: &&str| {
        let (which, direction) = name.split_once("s ").unwrap_or((name, ""));
        keys.per_layer(&format!("{which} gap {direction}"), num_layers, Some(0.0))
    };
    let of_each: Vec<Vec<f64>> = names.iter().map(gap).collect::<Result<_, _>>()?;
    Ok((0..num_layers).map(|layer| of_each.iter().map(|gaps| gaps[layer]).collect()).collect())
}

/// Returns the crystals of each layer.
///
/// # Errors
/// A number that is missing or invalid.
pub(super) fn num_per_layer(keys: &Keys, num_layers: usize) -> Result<Vec<u64>, IoError> {
    let (along, around) = (nums(keys, &ALONG, num_layers)?, nums(keys, &AROUND, num_layers)?);
    let sectors = keys.per_layer::<u64>("number of rsectors", num_layers, None)?;
    let product = |layer: usize| {
        let mut all = along[layer].iter().chain(&around[layer]).chain([&sectors[layer]]);
        all.try_fold(1u64, |product, &num| product.checked_mul(num)).unwrap_or(u64::MAX)
    };
    Ok((0..num_layers).map(product).collect())
}

/// Returns the crystals, layer by layer, ring by ring from −z, in each ring sector by sector.
///
/// # Errors
/// A figure that is missing or invalid.
pub(super) fn crystals(keys: &Keys, layers: &[Layer]) -> Result<Vec<Crystal>, IoError> {
    let num_layers = layers.len();
    let (along, around) = (nums(keys, &ALONG, num_layers)?, nums(keys, &AROUND, num_layers)?);
    let (gaps_along, gaps_around) = (gaps(keys, &ALONG, num_layers)?, gaps(keys, &AROUND, num_layers)?);
    let sectors = keys.per_layer::<u64>("number of rsectors", num_layers, None)?;
    let radii = keys.per_layer::<f64>("scanner radius", num_layers, None)?;
    let first_deg = keys.per_layer("rsectors first angle", num_layers, Some(0.0))?;
    let span_deg = keys.per_layer("rsectors angular span", num_layers, Some(360.0))?;
    let direction = direction(keys)?;
    let shifts_mm = shifts_mm(keys)?;
    let mut crystals = Vec::with_capacity(layers.iter().map(|layer| layer.num_crystals as usize).sum());
    for (index, layer) in layers.iter().enumerate() {
        let [depth_mm, width_mm, height_mm] = layer.size_mm;
        let axial = Row::new(height_mm, along[index].clone(), &gaps_along[index]);
        let transaxial = Row::new(width_mm, around[index].clone(), &gaps_around[index]);
        let num_in_sector: u64 = around[index].iter().product();
        let num_in_ring = (num_in_sector * sectors[index]).max(1);
        for crystal in 0..layer.num_crystals {
            let (ring, in_ring) = (crystal / num_in_ring, crystal % num_in_ring);
            let sector = in_ring / num_in_sector;
            let angle = (first_deg[index] + sector as f64 * span_deg[index] / sectors[index] as f64).to_radians();
            let (sin, cos) = (direction * angle.sin(), angle.cos());
            let (x, y) = (direction * transaxial.middle_mm(in_ring % num_in_sector), radii[index] + 0.5 * depth_mm);
            let z = axial.middle_mm(ring) + shifts_mm[sector as usize % shifts_mm.len()];
            crystals.push(layer.crystal([x * cos + y * sin, y * cos - x * sin, z], [sin, cos, 0.0]));
        }
    }
    Ok(crystals)
}

/// Returns the direction of rotation: 1 = clockwise, −1 = counter-clockwise.
fn direction(keys: &Keys) -> Result<f64, IoError> {
    match keys.text("rotation direction") {
        None | Some("") => Ok(1.0),
        Some(found) => match found.to_lowercase().as_str() {
            "cw" => Ok(1.0),
            "ccw" => Ok(-1.0),
            _ => Err(keys.invalid("rotation direction", found, "CW or CCW")),
        },
    }
}

/// Returns the shifts of the sectors along the axis, which repeat.
fn shifts_mm(keys: &Keys) -> Result<Vec<f64>, IoError> {
    match keys.one("rsectors nbZShift", Some(0usize))? {
        0 => Ok(vec![0.0]),
        num @ 1..=1_000_000 => keys.per_layer("rsectors ZShift", num, None),
        num => Err(keys.invalid("rsectors nbZShift", &num.to_string(), "at most 1000000")),
    }
}

#[cfg(test)]
mod tests {
    use super::Row;

    #[test]
    fn gaps_lie_between_what_they_are_named_after() {
        // Two modules of two submodules of three crystals of 2 mm: 0.1, 0.5 and 1 mm between them.
        let row = Row::new(2.0, vec![3, 2, 2], &[0.1, 0.5, 1.0]);
        let middles: Vec<f64> = (0..12).map(|crystal| row.middle_mm(crystal)).collect();
        let expected = [0.0, 2.1, 4.2, 6.7, 8.8, 10.9, 13.9, 16.0, 18.1, 20.6, 22.7, 24.8];
        for (found, expected) in middles.iter().zip(expected) {
            assert!((found - (expected - 12.4)).abs() < 1e-12, "{middles:?}");
        }
    }
}
