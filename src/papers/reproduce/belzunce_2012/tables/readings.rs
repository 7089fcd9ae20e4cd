//! Readings of definitions that the paper leaves open, each on the reference images: compared with the published numbers of the
//! CPU, with the nearest one.

use crate::phantom::Phantom;
use crate::reproduce::belzunce_2012::implementation::{Implementation, PaperColumn};
use crate::reproduce::belzunce_2012::quality::{NsrReading, contrast, iq_nsr};
use crate::reproduce::belzunce_2012::studies::Scan;
use crate::reproduce::belzunce_2012::{Context, published};
use crate::reproduce::prelude::*;

/// Diameters of the regions relative to the spheres': 80 % of the radius, 80 % of the diameter, all.
const ROI_FRACTIONS: [f64; 3] = [0.4, 0.8, 1.0];
/// Slices of the background's regions, mm from the spheres'.
const NSR_SLICES_MM: [f64; 2] = [0.0, 36.0];
/// Possible phantoms.
const SCANS: [Scan; 2] = [Scan::Iq, Scan::IqVoxels];

pub fn add(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let phantom = Scan::Iq.phantom(&context.plan)?;
    let mut images = Vec::new();
    for scan in SCANS {
        for image in [context.plan.quality_image(), context.plan.full_image()] {
            if let Some(volume) = context.image(scan, image, Implementation::reference())? {
                images.push((format!("{}, {}", scan.title(), image.title), volume));
            }
        }
    }
    if images.is_empty() {
        return Ok(());
    }
    add_contrast(&phantom, &images, context.plan.quick, tables);
    add_noise(&phantom, &images, context.plan.quick, tables);
    Ok(())
}

/// The row of the published numbers.
const PAPER: &str = "the paper's CPU";

/// Returns the nearest reading as a sentence; none for a quick run, whose numbers are unrelated to the paper's.
fn nearest(what: &str, distances: Vec<(String, f64)>, quick: bool) -> Vec<String> {
    let best = distances.into_iter().filter(|_| !quick).min_by(|a, b| a.1.total_cmp(&b.1));
    best.map(|(row, distance)| format!("Nearest to the paper's {what}: {row} ({distance:.1} points).")).into_iter().collect()
}

fn add_contrast(phantom: &Phantom, images: &[(String, Volume)], quick: bool, tables: &mut Tables) {
    let paper = published::of(published::CONTRAST, PaperColumn::I7);
    let columns = published::SPHERES_MM.into_iter().enumerate();
    let mut values: Vec<Value> = columns
        .map(|(index, diameter)| {
            Value::new("6 readings", PAPER, format!("{diameter} mm"), "%").paper(paper.map(|all| all[index]))
        })
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
                values.push(Value::new("6 readings", row.clone(), format!("{diameter} mm"), "%").here(here));
            }
            let distance = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
            values.push(Value::new("6 readings", row.clone(), "rms", "%").here(distance));
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
        columns.iter().map(|&(nsr, slice_mm)| Value::new("5 readings", PAPER, name(nsr, slice_mm), "%").paper(paper)).collect();
    let mut distances = Vec::new();
    for (title, volume) in images {
        for &(nsr, slice_mm) in &columns {
            let here = iq_nsr(phantom, volume, nsr, slice_mm).map(|part| 100.0 * part);
            let column = name(nsr, slice_mm);
            let distance = here.zip(paper).map(|(here, paper)| (here - paper).abs());
            distances.extend(distance.map(|distance| (format!("{title}, {column}"), distance)));
            values.push(Value::new("5 readings", title.clone(), column, "%").here(here));
        }
    }
    let mut remarks = vec![
        "Pooled or averaged over the eight circles, in the slice of the spheres or at the given distance from it.".to_owned(),
    ];
    remarks.extend(nearest("1.2 %", distances, quick));
    tables.add("Readings of the text: noise of the noise-free phantom (CPU)", values, remarks);
}
