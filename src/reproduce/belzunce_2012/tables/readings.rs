//! What the paper's text leaves open about its regions and its phantom: every reading, on the reference images, beside
//! the published numbers of the CPU, and which one is nearest.

use super::Sources;
use crate::data::Volume;
use crate::phantom::Phantom;
use crate::report::Tables;
use crate::report::Value;
use crate::reproduce::ReproduceError;
use crate::reproduce::belzunce_2012::implementation::{Implementation, PaperColumn};
use crate::reproduce::belzunce_2012::published;
use crate::reproduce::belzunce_2012::quality::{NsrReading, contrast, iq_nsr};
use crate::reproduce::belzunce_2012::studies::Scan;

/// Diameters of the regions relative to the spheres': 80 % of the radius, 80 % of the diameter, all.
const ROI_FRACTIONS: [f64; 3] = [0.4, 0.8, 1.0];
/// Slices of the background's regions, mm from the spheres'.
const NSR_SLICES_MM: [f64; 2] = [0.0, 36.0];
/// How the phantom may have been made.
const SCANS: [Scan; 2] = [Scan::Iq, Scan::IqVoxels];

/// Adds the tables.
pub(super) fn add(measured: &Sources, tables: &mut Tables) -> Result<(), ReproduceError> {
    let phantom = Scan::Iq.phantom(measured.plan)?;
    let mut images = Vec::new();
    for scan in SCANS {
        for image in [measured.plan.quality_image(), measured.plan.full_image()] {
            if let Some(volume) = measured.image(scan, image, Implementation::reference())? {
                images.push((format!("{}, {}", scan.title(), image.title), volume));
            }
        }
    }
    if images.is_empty() {
        return Ok(());
    }
    add_contrast(&phantom, &images, measured.plan.quick, tables);
    add_noise(&phantom, &images, measured.plan.quick, tables);
    Ok(())
}

/// The row of the published numbers.
const PAPER: &str = "the paper's CPU";

fn ours(table: &'static str, row: String, column: String, here: Option<f64>) -> Value {
    Value { table, row, column, unit: "%", here, ..Value::default() }
}

fn published_value(table: &'static str, column: String, paper: Option<f64>) -> Value {
    Value { table, row: PAPER.into(), column, unit: "%", paper, ..Value::default() }
}

/// The nearest reading as a sentence; a quick run's numbers have nothing to do with the paper's.
fn nearest(what: &str, distances: Vec<(String, f64)>, quick: bool) -> Vec<String> {
    let best = distances.into_iter().filter(|_| !quick).min_by(|a, b| a.1.total_cmp(&b.1));
    best.map(|(row, distance)| format!("Nearest to the paper's {what}: {row} ({distance:.1} points).")).into_iter().collect()
}

fn add_contrast(phantom: &Phantom, images: &[(String, Volume)], quick: bool, tables: &mut Tables) {
    let paper = published::of(published::CONTRAST, PaperColumn::I7);
    let columns = published::SPHERES_MM.into_iter().enumerate();
    let mut values: Vec<Value> = columns
        .map(|(index, diameter)| published_value("6 readings", format!("{diameter} mm"), paper.map(|all| all[index])))
        .collect();
    let mut distances = Vec::new();
    for (title, volume) in images {
        for fraction in ROI_FRACTIONS {
            let row = format!("{title}, region {fraction} of diameter");
            let found = contrast(phantom, volume, fraction);
            let mut squares = Vec::new();
            for (index, diameter) in published::SPHERES_MM.into_iter().enumerate() {
                let here = found.get(index).and_then(|part| part.map(|part| 100.0 * part));
                let paper = paper.map(|all| all[index]);
                squares.extend(here.zip(paper).map(|(here, paper)| (here - paper).powi(2)));
                values.push(ours("6 readings", row.clone(), format!("{diameter} mm"), here));
            }
            let distance = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
            values.push(ours("6 readings", row.clone(), "rms".into(), Some(distance)));
            distances.push((row, distance));
        }
    }
    let mut remarks = vec![
        "rms: root mean square of the six differences from the paper, in points.".to_owned(),
        "Large voxels: the phantom averaged over the voxels of the first image and projected from there (the paper calls \
its phantom approximated), not exact spheres."
            .to_owned(),
    ];
    remarks.extend(nearest("table 6", distances, quick));
    tables.add("Readings of the text: contrast (CPU)", values, remarks);
}

fn add_noise(phantom: &Phantom, images: &[(String, Volume)], quick: bool, tables: &mut Tables) {
    let paper = published::of(published::NSR, PaperColumn::I7).map(|[_, iq]| iq);
    let both = [NsrReading::Pooled, NsrReading::Averaged];
    let columns: Vec<_> = both.into_iter().flat_map(|nsr| NSR_SLICES_MM.map(|slice_mm| (nsr, slice_mm))).collect();
    let name = |nsr: NsrReading, slice_mm: f64| format!("{nsr}, {slice_mm} mm");
    let mut values: Vec<Value> =
        columns.iter().map(|&(nsr, slice_mm)| published_value("5 readings", name(nsr, slice_mm), paper)).collect();
    let mut distances = Vec::new();
    for (title, volume) in images {
        for &(nsr, slice_mm) in &columns {
            let here = iq_nsr(phantom, volume, nsr, slice_mm).map(|part| 100.0 * part);
            let column = name(nsr, slice_mm);
            let distance = here.zip(paper).map(|(here, paper)| (here - paper).abs());
            distances.extend(distance.map(|distance| (format!("{title}, {column}"), distance)));
            values.push(ours("5 readings", title.clone(), column, here));
        }
    }
    let mut remarks = vec![
        "Pooled or averaged over the eight circles, in the slice of the spheres or at the given distance from it.".to_owned(),
    ];
    remarks.extend(nearest("1.2 %", distances, quick));
    tables.add("Readings of the text: noise of the noise-free phantom (CPU)", values, remarks);
}
