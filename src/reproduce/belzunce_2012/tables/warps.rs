//! Figure 9 as a table: lanes of warps by image.

use super::Sources;
use crate::report::Tables;
use crate::report::Value;
use crate::reproduce::ReproduceError;
use crate::reproduce::belzunce_2012::stages::Work;
use crate::reproduce::belzunce_2012::warps::Warps;
use crate::reproduce::schedule::Measurement;

/// Adds the table.
pub(super) fn add(measured: &Sources, tables: &mut Tables) -> Result<(), ReproduceError> {
    let mut values = Vec::new();
    for image in &measured.plan.images {
        let Some(warps) = measured.folder.load::<Warps>(&Work::Warps(image.clone()).key())? else { continue };
        let columns = [
            ("steps of a line", "", warps.steps_per_line),
            ("active lanes of 32", "", warps.active_lanes),
            ("divergent steps", "%", 100.0 * warps.divergent),
            ("divergent steps", "millions", 1e-6 * warps.divergent * warps.warp_steps),
        ];
        for (column, unit, here) in columns {
            let column = column.to_owned();
            values.push(Value { table: "figure 9", row: image.title.into(), column, unit, here: Some(here), ..Value::default() });
        }
    }
    let remarks = vec![
        "Counted from the geometry: 32 neighbouring bins a warp, r fastest, every 28th sinogram; one forward projection.".into(),
        "Divergent: the lanes choose different axes for their next voxel, which is a branch in the paper's kernels (its figure \
9 counts them; it gives no numbers in the text)."
            .into(),
    ];
    tables.add("Figure 9. Warps in the forward projection, per-lor", values, remarks);
    Ok(())
}
