//! `tomoscope compare A B`: the difference of two images on the same grid.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::image_options::ReadImage;
use crate::cli::shared::notices;
use crate::cli::shared::outputs::{Files, check_same_grid};
use crate::data::Notice;
use crate::io::{is_on_gradient_axes, read_epri_volume, read_volume};
use crate::measure::{correlation, largest_difference, relative_difference};
use crate::report::{Column, Columns};

/// Columns of a figure: its name and value.
const FIGURE: Columns<2> = Columns([Column::words("", 26), Column::words("", 0)]);

/// Options of `tomoscope compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareOptions {
    /// Image to compare ({read images}).
    a: PathBuf,

    /// Image to compare it with, on the same grid.
    b: PathBuf,

    /// Print the figures as JSON, for scripts.
    #[arg(long)]
    json: bool,
}

pub fn run(options: &CompareOptions) -> CliResult {
    Files::new().read([&options.a, &options.b]).check()?;
    let are_on_gradient_axes = [is_on_gradient_axes(&options.a)?, is_on_gradient_axes(&options.b)?];
    let read: ReadImage = if are_on_gradient_axes.contains(&Some(true)) { read_epri_volume } else { read_volume };
    let (a, b) = (notices::printed(read(&options.a)?), notices::printed(read(&options.b)?));
    let names = [&options.a, &options.b].map(|path| path.display().to_string());
    check_same_grid([(&names[0], &a.grid), (&names[1], &b.grid)], "")?;
    if a.unit != b.unit {
        let text = format!("{} is in {}, {} in {}", names[0], a.unit.label(), names[1], b.unit.label());
        notices::print(&[Notice::warning(text)]);
    }
    // Undefined figures (of an image of zeros or of one value, of values that are not finite) are no numbers.
    let norm = Some(relative_difference(a.as_slice(), b.as_slice())).filter(|norm| norm.is_finite());
    let correlation = correlation(a.as_slice(), b.as_slice());
    let largest = largest_difference(a.as_slice(), b.as_slice()).map(|(index, difference)| {
        let [nx, ny, _] = a.grid.size;
        let voxel = [index % nx, index / nx % ny, index / (nx * ny)];
        (difference, voxel, a.grid.mm_from_voxel(voxel.map(|i| i as f64)), [a.as_slice()[index], b.as_slice()[index]])
    });
    if options.json {
        let largest = largest.map(|(difference, voxel, position_mm, values)| {
            json!({"difference": difference, "voxel": voxel, "position_mm": position_mm, "values": values})
        });
        let figures =
            json!({"a": names[0], "b": names[1], "relative_difference": norm, "correlation": correlation, "largest": largest});
        out!("{}", serde_json::to_string_pretty(&figures)?);
        return Ok(());
    }
    let number = |value: Option<f64>| value.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.6e}"));
    out!("{} against {}", names[0], names[1]);
    out!("  {}", FIGURE.line(["relative difference".into(), format!("{} = ‖A − B‖ / ‖B‖", number(norm))]));
    let coefficient = correlation.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.9}"));
    out!("  {}", FIGURE.line(["correlation coefficient".into(), coefficient]));
    if let Some((difference, [i, j, k], [x, y, z], [of_a, of_b])) = largest {
        let position = format!("voxel ({i}, {j}, {k}) counted from 0, at ({x:.2}, {y:.2}, {z:.2}) mm");
        out!(
            "  {}",
            FIGURE.line(["largest difference A − B".into(), format!("{difference:.6e}: {of_a:e} − {of_b:e}, in {position}")])
        );
    }
    Ok(())
}
