//! Figure 9 as a table.

use crate::reproduce::belzunce_2012::Context;
use crate::reproduce::belzunce_2012::stages::Work;
use crate::reproduce::belzunce_2012::warps::Warps;
use crate::reproduce::prelude::*;

pub fn add(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let mut values = Vec::new();
    for image in &context.plan.images {
        let Some(warps) = context.load::<Warps>(&Work::Warps(image.clone()))? else { continue };
        let cell = |column: &str, unit, here: f64| Value::new("figure 9", image.title, column, unit).here(here);
        values.extend([
            cell("steps of a line", "", warps.steps_per_line),
            cell("active lanes of 32", "", warps.active_lanes),
            cell("divergent steps", "%", 100.0 * warps.divergent),
            cell("divergent steps", "millions", 1e-6 * warps.divergent * warps.warp_steps),
        ]);
    }
    let remarks = [
        "Counted from the geometry: 32 neighbouring bins a warp, r fastest, every 28th sinogram; one forward projection.",
        "Divergent: the lanes choose different axes for their next voxel, which is a branch in the paper's kernels (its figure \
9 counts them; it gives no numbers in the text).",
    ];
    tables.add("Figure 9. Warps in the forward projection, per-lor", values, remarks);
    Ok(())
}
