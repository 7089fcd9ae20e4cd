//! Tables 5 and 6, and what the race lost: numbers from the images.

use super::{Row, Sources};
use crate::operator::Accumulation;
use crate::report::Tables;
use crate::report::Value;
use crate::reproduce::ReproduceError;
use crate::reproduce::belzunce_2012::implementation::Implementation;
use crate::reproduce::belzunce_2012::published;
use crate::reproduce::belzunce_2012::quality::{contrast, cylinder_nsr, iq_nsr};
use crate::reproduce::belzunce_2012::stages::Work;
use crate::reproduce::belzunce_2012::studies::Scan;
use crate::reproduce::schedule::Measurement;

/// Adds the tables.
pub(super) fn add(measured: &Sources, tables: &mut Tables) -> Result<(), ReproduceError> {
    let title = measured.plan.quality_image().title;
    tables.add(format!("Table 5. Noise-to-signal ratio, {title}"), noise(measured)?, noise_remarks(measured)?);
    for scan in [Scan::Iq, Scan::IqNoisy] {
        let title = format!("Table 6. Recovery contrast, {title}; {}", scan.title());
        tables.add(title, contrasts(measured, scan)?, contrast_remarks(measured));
    }
    let mut lost = Vec::new();
    for scan in [Scan::Cylinder, Scan::Iq, Scan::IqNoisy] {
        lost.extend(race(measured, scan)?);
    }
    tables.add(format!("Loss by the race condition, {title}"), lost, race_remarks());
    Ok(())
}

fn percent(part: Option<f64>) -> Option<f64> {
    part.map(|part| 100.0 * part)
}

/// The rows of all implementations whose images are there for a scan.
fn rows(measured: &Sources, scans: &[Scan]) -> Vec<(Implementation, Row)> {
    let image = measured.plan.quality_image();
    let key = |scan: Scan, one: Implementation| Work::Image(scan, image.clone(), one).key();
    Implementation::of_images(measured.plan, measured.device)
        .into_iter()
        .filter(|one| scans.iter().any(|scan| measured.folder.has(&key(*scan, *one))))
        .flat_map(|one| Row::all(&one, one.paper_columns_of_images(measured.plan)).into_iter().map(move |row| (one, row)))
        .collect()
}

fn noise(measured: &Sources) -> Result<Vec<Value>, ReproduceError> {
    let readings = measured.readings;
    let scans = [(Scan::Cylinder, Some(0)), (Scan::Iq, Some(1)), (Scan::IqNoisy, None)];
    let mut values = Vec::new();
    for (one, row) in rows(measured, &scans.map(|(scan, _)| scan)) {
        for (scan, column) in scans {
            let mut value = row.value("5", scan.title(), "%");
            value.paper = column.and_then(|column| row.published(published::NSR, column));
            if row.is_ours() {
                let phantom = scan.phantom(measured.plan)?;
                let image = measured.image(scan, measured.plan.quality_image(), one)?;
                value.here = percent(image.and_then(|image| match scan {
                    Scan::Cylinder => cylinder_nsr(&phantom, &image),
                    _ => iq_nsr(&phantom, &image, readings.nsr, readings.nsr_slice_mm),
                }));
            }
            values.push(value);
        }
    }
    Ok(values)
}

fn noise_remarks(measured: &Sources) -> Result<Vec<String>, ReproduceError> {
    let readings = measured.readings;
    let mut remarks = vec![format!(
        "Image-quality phantom: eight circles of 15 mm radius, {}, {} mm from the spheres' slice (--nsr, --nsr-slice-mm).",
        readings.nsr, readings.nsr_slice_mm
    )];
    if let Some(found) = measured.cylinder_counts()? {
        remarks.push(format!(
            "Cylinder: one circle of 25 mm radius. Its counts ({:.3e}) were tuned until the CPU's image had the paper's 4.9 %: that number is no result.",
            found.counts
        ));
    }
    Ok(remarks)
}

fn contrasts(measured: &Sources, scan: Scan) -> Result<Vec<Value>, ReproduceError> {
    let phantom = scan.phantom(measured.plan)?;
    let mut values = Vec::new();
    for (one, row) in rows(measured, &[scan]) {
        let image = if row.is_ours() { measured.image(scan, measured.plan.quality_image(), one)? } else { None };
        let found = image.map(|image| contrast(&phantom, &image, measured.readings.roi_fraction));
        for (index, diameter) in published::SPHERES_MM.into_iter().enumerate() {
            let mut value = row.value("6", format!("{diameter} mm"), "%");
            value.paper = row.published(published::CONTRAST, index);
            value.here = percent(found.as_ref().and_then(|all| *all.get(index)?));
            values.push(Value { scan: scan.name(), ..value });
        }
    }
    Ok(values)
}

fn contrast_remarks(measured: &Sources) -> Vec<String> {
    vec![
        format!("Regions: circles of {} of the sphere's diameter (--roi-fraction).", measured.readings.roi_fraction),
        "28 and 37 mm are cold. The paper's equation 6 lacks the ratio of hot to background in its numerator; it was added."
            .into(),
    ]
}

/// The race of each implementation that has one.
fn race(measured: &Sources, scan: Scan) -> Result<Vec<Value>, ReproduceError> {
    let (phantom, image) = (scan.phantom(measured.plan)?, measured.plan.quality_image());
    let mut values = Vec::new();
    let racy =
        rows(measured, &[scan]).into_iter().filter(|(one, row)| one.accumulation == Accumulation::NonAtomic && row.is_ours());
    for (one, row) in racy {
        let run = measured.run(&Work::Image(scan, image.clone(), one))?;
        let last = run.as_ref().and_then(|run| run.steps.last()?.race);
        let both = measured.image_and_exact(scan, image, one)?;
        let (whole, uniform) = match &both {
            Some((racy, exact)) => {
                let uniform = scan.uniform_mean(&phantom, racy).zip(scan.uniform_mean(&phantom, exact));
                (Some(racy.sum() / exact.sum()), uniform.map(|(racy, exact)| racy / exact))
            }
            None => (None, None),
        };
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

fn race_remarks() -> Vec<String> {
    vec![
        "Lost: part of the additions, by value, that a backprojection lost (of ones; of the last iteration's ratios).".into(),
        "Level: sensitivity-weighted mean of the image after the last step, relative to an exact step. The other \
two are measured on the images."
            .into(),
        "\"sensitivity too\": the sensitivity image is non-atomic, too; otherwise it is exact.".into(),
        "The paper (section 3): the mean of the cylinder was 2 % lower without atomic operations.".into(),
    ]
}
