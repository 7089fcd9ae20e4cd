//! The WGSL texts of all kernels as a GPU's driver gets them, so that a test can validate and translate them without a GPU.

use std::sync::Arc;

use strum::VariantArray as _;

use super::adding::ADDERS;
use super::axial_tables::PlanTables;
use super::kernel::with_immediates;
use super::{axial_runs, event_tables, events, per_lor, planes};
use crate::algebra::{FieldOfView, Shard};
use crate::data::{Events, TofBins};
use crate::operator::{AxialPlan, AxialTable, EventOrder, EventRays, Interpolation, OperatorError, TofKernel};
use crate::scanner::{Detectors, PairRays, find};

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
        ("arrays", include_str!("../../../shaders/compute/arrays.wgsl")),
        ("columns", include_str!("../../../shaders/compute/columns.wgsl")),
        ("reductions", include_str!("../../../shaders/compute/reductions.wgsl")),
        ("pairs", include_str!("../../../shaders/compute/pairs.wgsl")),
        ("voxel_map", include_str!("../../../shaders/compute/voxel_map.wgsl")),
        ("penalty", include_str!("../../../shaders/compute/penalty.wgsl")),
        ("convolution", include_str!("../../../shaders/compute/convolution.wgsl")),
        ("variation", include_str!("../../../shaders/compute/variation.wgsl")),
        ("check_bins", include_str!("../../../shaders/compute/check_bins.wgsl")),
    ];
    let shader = |name: &str, source: &str| Shader { name: name.to_owned(), source: source.to_owned() };
    let mut all: Vec<Shader> = whole.iter().map(|(name, source)| shader(name, source)).collect();
    for (name, is_split, knows_neighbours) in [
        ("axial_runs", false, true),
        ("axial_runs without subgroups", false, false),
        ("axial_runs of several buffers", true, false),
    ] {
        let Some(tables) = tables_of_a_scan(is_split)? else { continue };
        let [forward, back] = axial_runs::sources(&tables, 4, knows_neighbours);
        all.push(shader(name, &forward));
        all.extend(ADDERS.map(|(adder, text)| shader(&format!("{name}, {adder}"), &format!("{text}\n{back}"))));
    }
    let bins = TofBins { num: 7, width_mm: 40.0, fwhm_mm: 60.0 };
    for (name, tof) in [("per_lor", None), ("per_lor with time of flight", Some((bins, TofKernel::new(bins.fwhm_mm))))] {
        let [forward, back] = per_lor::sources(tof);
        all.push(shader(name, &forward));
        all.extend(ADDERS.map(|(adder, text)| shader(&format!("{name}, {adder}"), &format!("{text}\n{back}"))));
    }
    let of_planes =
        |interpolation: &Interpolation| shader(&format!("planes, {interpolation}"), &planes::source(*interpolation, 4, 256));
    all.extend(Interpolation::VARIANTS.iter().map(of_planes));
    if let Some([forward, back, beams]) = texts_of_events()? {
        all.push(shader("events", &forward));
        let adding = [("events", back), ("beams of events", beams)];
        all.extend(adding.iter().flat_map(|(name, text)| {
            ADDERS.map(|(adder, addition)| shader(&format!("{name}, {adder}"), &format!("{addition}\n{text}")))
        }));
    }
    let with_immediates = |shader: &Shader| Shader {
        name: format!("{}, parameters without a buffer", shader.name),
        source: with_immediates(&shader.source),
    };
    all.extend(all.iter().map(with_immediates).collect::<Vec<Shader>>());
    Ok(all)
}

/// Returns the texts of the kernels of events of a small scanner.
fn texts_of_events() -> Result<Option<[String; 3]>, OperatorError> {
    let Some(scanner) = find("small") else { return Ok(None) };
    let Ok(grid) = scanner.geometry.default_grid() else { return Ok(None) };
    let Ok(detectors) = Detectors::of_cylinder(&scanner.geometry) else { return Ok(None) };
    let events = Arc::new(Events::default());
    let rays = EventRays::new(events, &detectors, None, &grid, PairRays::ONE, EventOrder::ByLine, Shard::WHOLE)?;
    let fov = FieldOfView::new(&grid, grid.inscribed_radius_mm());
    Ok(Some(events::sources(&event_tables::constants(&rays, &grid, &fov, None))))
}

fn tables_of_a_scan(is_split: bool) -> Result<Option<PlanTables>, OperatorError> {
    let Some(scanner) = find("small") else { return Ok(None) };
    let geometry = &scanner.geometry;
    let Ok(grid) = geometry.default_grid() else { return Ok(None) };
    let reach = (FieldOfView::new(&grid, grid.inscribed_radius_mm()).path_radius_mm / geometry.radius_mm()).min(1.0);
    let table = AxialTable::new(geometry, &grid, 1, reach)?;
    let plan = AxialPlan::new(geometry, &grid, &table, grid.size[0] + grid.size[1], |_, registers| Some(registers))?;
    Ok(Some(PlanTables::new(&plan, is_split)))
}
