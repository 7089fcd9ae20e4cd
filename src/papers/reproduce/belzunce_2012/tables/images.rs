//! Tables 5 and 6, and the loss by the race condition: numbers from the images.

use super::Row;
use crate::operator::Accumulation;
use crate::reproduce::belzunce_2012::implementation::Implementation;
use crate::reproduce::belzunce_2012::measure::Run;
use crate::reproduce::belzunce_2012::quality::{contrast, cylinder_nsr, iq_nsr};
use crate::reproduce::belzunce_2012::stages::Work;
use crate::reproduce::belzunce_2012::studies::{CylinderCounts, Scan};
use crate::reproduce::belzunce_2012::{Context, published};
use crate::reproduce::prelude::*;

pub fn add(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let title = context.plan.quality_image().title;
    tables.add(format!("Table 5. Noise-to-signal ratio, {title}"), noise(context)?, noise_remarks(context)?);
    for scan in [Scan::Iq, Scan::IqNoisy] {
        let title = format!("Table 6. Recovery contrast, {title}; {}", scan.title());
        let remarks = [
            format!("Regions: circles of {} of the sphere's diameter (--roi-fraction).", context.options.roi_fraction),
            "28 and 37 mm are cold. The paper's equation 6 lacks the ratio of hot to background in its numerator; it was added."
                .into(),
        ];
        tables.add(title, contrasts(context, scan)?, remarks);
    }
    let mut lost = Vec::new();
    for scan in [Scan::Cylinder, Scan::Iq, Scan::IqNoisy] {
        lost.extend(race(context, scan)?);
    }
    let remarks = [
        "Lost: part of the additions, by value, that a backprojection lost (of ones; of the last iteration's ratios).",
        "Level: sensitivity-weighted mean of the image after the last step, relative to an exact step. The other \
two are measured on the images.",
        "\"sensitivity too\": the sensitivity image is non-atomic, too; otherwise it is exact.",
        "The paper (section 3): the mean of the cylinder was 2 % lower without atomic operations.",
    ];
    tables.add(format!("Loss by the race condition, {title}"), lost, remarks);
    Ok(())
}

fn percent(part: Option<f64>) -> Option<f64> {
    part.map(|part| 100.0 * part)
}

/// Returns the rows of all implementations with an image of a scan.
fn rows(context: &Context, scans: &[Scan]) -> Vec<(Implementation, Row)> {
    let image = context.plan.quality_image();
    let is_made = |scan: &Scan, one: &Implementation| context.folder.has(&Work::Image(*scan, image.clone(), *one).key());
    Implementation::of_images(&context.plan, context.device)
        .into_iter()
        .filter(|one| scans.iter().any(|scan| is_made(scan, one)))
        .flat_map(|one| Row::all(&one, one.paper_columns_of_images(&context.plan)).into_iter().map(move |row| (one, row)))
        .collect()
}

fn noise(context: &Context) -> Result<Vec<Value>, ReproduceError> {
    let (readings, image) = (context.options, context.plan.quality_image());
    let scans = [(Scan::Cylinder, Some(0)), (Scan::Iq, Some(1)), (Scan::IqNoisy, None)];
    let mut values = Vec::new();
    for (one, row) in rows(context, &scans.map(|(scan, _)| scan)) {
        for (scan, column) in scans {
            let phantom = scan.phantom(&context.plan)?;
            let image = if row.is_ours() { context.image(scan, image, one)? } else { None };
            let here = image.and_then(|image| match scan {
                Scan::Cylinder => cylinder_nsr(&phantom, &image),
                _ => iq_nsr(&phantom, &image, readings.nsr, readings.nsr_slice_mm),
            });
            let paper = column.and_then(|column| row.published(published::NSR, column));
            values.push(row.value("5", scan.title(), "%").paper(paper).here(percent(here)));
        }
    }
    Ok(values)
}

fn noise_remarks(context: &Context) -> Result<Vec<String>, ReproduceError> {
    let readings = context.options;
    let mut remarks = vec![format!(
        "Image-quality phantom: eight circles of 15 mm radius, {}, {} mm from the spheres' slice (--nsr, --nsr-slice-mm).",
        readings.nsr, readings.nsr_slice_mm
    )];
    if let Some(found) = context.load::<CylinderCounts>(&Work::CylinderCounts)? {
        remarks.push(format!(
            "Cylinder: one circle of 25 mm radius. Its counts ({:.3e}) were tuned until the CPU's image had the paper's 4.9 %: that number is no result.",
            found.counts
        ));
    }
    Ok(remarks)
}

fn contrasts(context: &Context, scan: Scan) -> Result<Vec<Value>, ReproduceError> {
    let phantom = scan.phantom(&context.plan)?;
    let mut values = Vec::new();
    for (one, row) in rows(context, &[scan]) {
        let image = if row.is_ours() { context.image(scan, context.plan.quality_image(), one)? } else { None };
        let found = image.map(|image| contrast(&phantom, &image, context.options.roi_fraction));
        for (index, diameter) in published::SPHERES_MM.into_iter().enumerate() {
            let here = percent(found.as_ref().and_then(|all| *all.get(index)?));
            let value = row.value("6", format!("{diameter} mm"), "%").paper(row.published(published::CONTRAST, index));
            values.push(Value { here, scan: scan.name(), ..value });
        }
    }
    Ok(values)
}

/// Returns the loss of each non-atomic implementation.
fn race(context: &Context, scan: Scan) -> Result<Vec<Value>, ReproduceError> {
    let (phantom, image) = (scan.phantom(&context.plan)?, context.plan.quality_image());
    let mut values = Vec::new();
    let racy =
        rows(context, &[scan]).into_iter().filter(|(one, row)| one.accumulation == Accumulation::NonAtomic && row.is_ours());
    for (one, row) in racy {
        let run = context.load_offered::<Run>(&Work::Image(scan, image.clone(), one))?;
        let last = run.as_ref().and_then(|run| run.steps.last()?.race);
        let exact =
            context.image(scan, image, Implementation { accumulation: Accumulation::Atomic, racy_sensitivity: false, ..one })?;
        let both = context.image(scan, image, one)?.zip(exact);
        let whole = both.as_ref().map(|(racy, exact)| racy.sum() / exact.sum());
        let uniform = both
            .as_ref()
            .and_then(|(racy, exact)| Some(scan.uniform_mean(&phantom, racy)? / scan.uniform_mean(&phantom, exact)?));
        let published = (scan == Scan::Cylinder && row.paper.is_some()).then_some(published::NON_ATOMIC_MEAN);
        let columns = [
            ("lost of ones", None, last.map(|race| race.lost_of_ones)),
            ("lost of last step", None, last.map(|race| race.lost)),
            ("level", None, last.map(|race| race.level)),
            ("mean / atomic", None, whole),
            ("uniform part / atomic", published, uniform),
        ];
        for (column, paper, here) in columns {
            let value = Value { paper, here: percent(here), ..row.value("race", column, "%") };
            values.push(Value { scan: scan.name(), row: format!("{}: {}", scan.title(), row.here), digits: Some(3), ..value });
        }
    }
    Ok(values)
}
