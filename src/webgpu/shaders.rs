//! The WGSL texts of all kernels as a GPU's driver gets them, so that a test can validate and translate them without a GPU.

use super::adding::ADDERS;
use super::axial_runs;
use super::axial_tables::PlanTables;
use super::per_lor;
use super::planes;
use crate::algebra::FieldOfView;
use crate::operator::{AxialPlan, AxialTable, Interpolation, OperatorError};
use crate::scanner::find;
use strum::VariantArray as _;

/// The whole text of some kernels.
#[derive(Clone, Debug)]
pub struct Shader {
    /// Its files, and how its additions are made.
    pub name: String,
    /// WGSL.
    pub source: String,
}

/// Returns the texts of all kernels in all ways of adding; those of axial runs for a small scanner.
///
/// # Errors
/// The scanner does not suit axial runs.
pub fn shaders() -> Result<Vec<Shader>, OperatorError> {
    let whole = [
        ("arrays", include_str!("../../shaders/compute/arrays.wgsl")),
        ("columns", include_str!("../../shaders/compute/columns.wgsl")),
        ("reductions", include_str!("../../shaders/compute/reductions.wgsl")),
        ("pairs", include_str!("../../shaders/compute/pairs.wgsl")),
        ("check_bins", include_str!("../../shaders/compute/check_bins.wgsl")),
    ];
    let shader = |name: &str, source: &str| Shader { name: name.to_owned(), source: source.to_owned() };
    let mut all: Vec<Shader> = whole.iter().map(|(name, source)| shader(name, source)).collect();
    for is_split in [false, true] {
        let Some(tables) = tables_of_a_scan(is_split)? else { continue };
        let [forward, back] = axial_runs::sources(&tables);
        let name = if is_split { "axial_runs of several buffers" } else { "axial_runs" };
        all.push(shader(name, &forward));
        all.extend(ADDERS.map(|(adder, text)| shader(&format!("{name}, {adder}"), &format!("{text}\n{back}"))));
    }
    let [forward, back] = per_lor::sources();
    all.push(shader("per_lor", &forward));
    all.extend(ADDERS.map(|(adder, text)| shader(&format!("per_lor, {adder}"), &format!("{text}\n{back}"))));
    let planes =
        |interpolation: &Interpolation| shader(&format!("planes, {interpolation}"), &planes::source(*interpolation, 4, 256));
    all.extend(Interpolation::VARIANTS.iter().map(planes));
    Ok(all)
}

fn tables_of_a_scan(is_split: bool) -> Result<Option<PlanTables>, OperatorError> {
    let Some(scanner) = find("small") else { return Ok(None) };
    let geometry = &scanner.geometry;
    let Ok(grid) = geometry.default_grid() else { return Ok(None) };
    let reach = (FieldOfView::new(&grid, grid.inscribed_radius_mm()).path_radius_mm / geometry.radius_mm()).min(1.0);
    let table = AxialTable::new(geometry, &grid, 1, reach)?;
    let plan = AxialPlan::new(geometry, &grid, &table, grid.size[0] + grid.size[1], |_, registers| Some(registers))?;
    Ok(Some(PlanTables::new(&plan, is_split, 4)))
}
