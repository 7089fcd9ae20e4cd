//! Figures 3, 7 and 10 as pictures; 3(e), 4 to 6, 8 and 9 as plots.

use ndarray::{ArrayView1, Axis};

use super::Context;
use super::implementation::Implementation;
use super::measure::{Run, Sample};
use super::mouse;
use super::plan::Scan;
use super::stages::Work;
use super::tables::percent_off;
use crate::data::BasisKind;
use crate::operator::OperatorError;
use crate::recon::gaussian_filter;
use crate::report::{Axes, Plot, Series};
use crate::reproduce::picture::{Panel, coronal, middle_coronal, write_plots, write_slices};
use crate::reproduce::prelude::*;
use crate::statistics::FWHM_PER_SIGMA;

/// White in pictures of slices, relative to the largest value of the first one.
const WHITE: f64 = 0.8;
/// White in pictures of the mouse, relative to the largest value of each.
const WHITE_OF_MOUSE: f64 = 0.5;

/// The filter of the image of cubes, mm.
const FILTER_SIGMA_MM: f64 = 0.5;

/// Writes the figures; returns a description of each.
pub fn write(context: &Context) -> Result<Vec<String>, ReproduceError> {
    let mut descriptions = write_slices_of(context, Scan::Rods, "figure-3")?;
    descriptions.extend(write_slices_of(context, Scan::Ellipsoid, "figure-7")?);
    descriptions.extend(write_mouse(context)?);
    descriptions.extend(write_plots(&context.folder, plots(context)?)?);
    Ok(descriptions)
}

/// Writes the central transverse slices of a scan's images, and their slices along the axis.
fn write_slices_of(context: &Context, scan: Scan, name: &str) -> Result<Vec<String>, ReproduceError> {
    let (mut names, mut images) = (Vec::new(), Vec::new());
    for implementation in Implementation::of_images(scan, context.device) {
        let Some(image) = context.load_image(&Work::Image(BasisKind::Blobs, scan, implementation))? else { continue };
        let last = context
            .run_with(BasisKind::Blobs, scan, implementation)?
            .and_then(|run| run.samples.last().map(|sample| sample.iteration));
        let iterations = last.map_or(context.plan.num_iterations, |last| last.min(context.plan.num_iterations));
        names.push(format!("{}, {iterations} iterations", implementation.title()));
        images.push(image);
    }
    let Some(first) = images.first() else { return Ok(Vec::new()) };
    let middle = first.grid.size[2] / 2;
    let largest = first.values.index_axis(Axis(0), middle).fold(0.0, |a: f32, b| a.max(*b));
    let high = WHITE * f64::from(largest);
    let along: Result<Vec<Volume>, _> = images.iter().map(middle_coronal).collect();
    let mut descriptions = Vec::new();
    for (file, volumes, z) in
        [(format!("figures/{name}.png"), &images, middle), (format!("figures/{name}-axial.png"), &along?, 0)]
    {
        let panels: Vec<Panel> = volumes.iter().map(|volume| Panel { volume, minus: None, low: 0.0, high }).collect();
        write_slices(&context.folder, &file, &panels, z)?;
        descriptions.push(format!(
            "{file}: {}; black 0, white {high:.4} decays/mm³; from the left: {}",
            scan.name(),
            names.join("; ")
        ));
    }
    Ok(descriptions)
}

/// Writes figure 10: the largest values along y of the mouse, and of its image.
fn write_mouse(context: &Context) -> Result<Vec<String>, ReproduceError> {
    let Some(whole) = context.load_image(&Work::Mouse(BasisKind::Blobs))? else { return Ok(Vec::new()) };
    let cubes = context.load_image(&Work::Mouse(BasisKind::Cubic))?;
    let filtered = cubes.map(|cubes| gaussian_filter(&cubes, FWHM_PER_SIGMA * FILTER_SIGMA_MM));
    let truth = mouse::phantom()?.truth(&whole.grid, 1.0, &Task::new()).map_err(OperatorError::from)?;
    let largest = |along_y: ArrayView1<f32>| along_y.fold(0.0, |a: f32, b| a.max(*b));
    let images = [Some(&truth), filtered.as_ref(), Some(&whole)].into_iter().flatten();
    let views: Vec<Volume> = images.map(|image| coronal(image, largest)).collect::<Result<_, _>>()?;
    let white = |volume: &Volume| WHITE_OF_MOUSE * f64::from(volume.range().1);
    let panel = |volume| Panel { volume, minus: None, low: 0.0, high: white(volume) };
    let panels: Vec<Panel> = views.iter().map(panel).collect();
    let file = "figures/figure-10.png";
    write_slices(&context.folder, file, &panels, 0)?;
    let name = Implementation::reference(context.device).title();
    let cubes = if filtered.is_some() { format!(" cubes, filtered with sigma = {FILTER_SIGMA_MM} mm;") } else { String::new() };
    Ok(vec![format!(
        "{file}: the largest values along y; white {WHITE_OF_MOUSE} x the largest of each; from the left: the phantom;{cubes} blobs; {name}, {} beds",
        mouse::NUM_BEDS
    )])
}

fn line(name: String, colour: usize, points: Vec<[f64; 2]>) -> Option<Series> {
    (!points.is_empty()).then_some(Series { name, colour, is_published: false, points })
}

/// Returns a quantity over the iterations, up to the plan's.
fn curve(run: &Run, last: usize, of: impl Fn(&Sample) -> Option<f64>) -> Vec<[f64; 2]> {
    let up_to = run.samples.iter().filter(|sample| sample.iteration <= last);
    up_to.filter_map(|sample| Some([sample.iteration as f64, of(sample)?])).collect()
}

fn plot(title: String, x_title: &str, y_title: &str, lines: Vec<Series>) -> Plot {
    Plot { axes: Axes::Linear, title, x_title: x_title.into(), y_title: y_title.into(), x_ticks: Vec::new(), lines }
}

fn plots(context: &Context) -> Result<Vec<(&'static str, Plot)>, ReproduceError> {
    let (rods, points) = (context.runs(Scan::Rods)?, context.runs(Scan::Ellipsoid)?);
    let (last, long) = (context.plan.num_iterations, context.plan.num_long_iterations);
    let regions = ["hot", "warm", "cold"];
    let cv = |sample: &Sample, region: usize| sample.noise.and_then(|noise| noise.cv[region]);
    let cnr = |sample: &Sample| sample.noise.and_then(|noise| noise.cnr);
    let at_half = |sample: &Sample, point: usize| sample.widths.get(point).and_then(|width| width.at_half_mm);
    let profiles = |runs: &[(Implementation, Run)]| -> Vec<Series> {
        let profile = |(colour, (implementation, run)): (usize, &(Implementation, Run))| {
            line(implementation.title(), colour, run.profile.clone())
        };
        let complete = runs.iter().filter(|(_, run)| run.at(last).is_some());
        complete.enumerate().filter_map(profile).collect()
    };
    let (mut of_rods, mut cv_off): ([Vec<Series>; 4], [Vec<Series>; 3]) = Default::default();
    for (colour, (implementation, run)) in rods.iter().enumerate() {
        let name = implementation.title();
        let reference = rods.first().filter(|_| colour > 0).map(|(_, run)| run);
        let same = |sample: &Sample| reference.and_then(|run| run.at(sample.iteration));
        for (region, of_region) in regions.into_iter().enumerate() {
            let of_both = format!("{of_region}: {name}");
            of_rods[0].extend(line(of_both, region, curve(run, last, |sample| cv(sample, region))));
            let off = |sample: &Sample| percent_off(cv(sample, region), cv(same(sample)?, region));
            cv_off[region].extend(line(name.clone(), colour, curve(run, last, off)));
        }
        of_rods[1].extend(line(name.clone(), colour, curve(run, last, cnr)));
        let off = |sample: &Sample| percent_off(cnr(sample), cnr(same(sample)?));
        of_rods[2].extend(line(name.clone(), colour, curve(run, last, off)));
        of_rods[3].extend(line(name, colour, curve(run, long, |sample| Some(100.0 * sample.correlation?))));
    }
    let mut of_points: [Vec<Series>; 2] = Default::default();
    for (colour, (implementation, run)) in points.iter().enumerate() {
        let reference = points.first().filter(|_| colour > 0).map(|(_, run)| run);
        for point in [0, 5] {
            let name = format!("point {}: {}", point + 1, implementation.title());
            of_points[0].extend(line(name.clone(), colour, curve(run, last, |sample| at_half(sample, point))));
            let off = |sample: &Sample| percent_off(at_half(sample, point), at_half(reference?.at(sample.iteration)?, point));
            of_points[1].extend(line(name, colour, curve(run, last, off)));
        }
    }
    let [of_cv, of_cnr, cnr_off, of_cc] = of_rods;
    let [hot_off, warm_off, cold_off] = cv_off;
    let [of_fwhm, fwhm_off] = of_points;
    let iteration = "iteration";
    let profile_of = |what: &str, number: &str| format!("Figure {number}. Profile through the {what} after {last} iterations");
    let difference_of = |region: &str| format!("Figure 4(b). Difference of the {region} region's from the reference");
    Ok(vec![
        ("figure-3e", plot(profile_of("rods", "3(e)"), "x, mm", "decays/mm³", profiles(&rods))),
        ("figure-4a", plot("Figure 4(a). Coefficient of variation".into(), iteration, "CV", of_cv)),
        ("figure-4b-hot", plot(difference_of("hot"), iteration, "%", hot_off)),
        ("figure-4b-warm", plot(difference_of("warm"), iteration, "%", warm_off)),
        ("figure-4b-cold", plot(difference_of("cold"), iteration, "%", cold_off)),
        ("figure-5a", plot("Figure 5(a). Contrast-to-noise ratio of hot and warm".into(), iteration, "CNR", of_cnr)),
        ("figure-5b", plot("Figure 5(b). Its difference from the reference".into(), iteration, "%", cnr_off)),
        ("figure-6", plot("Figure 6. Correlation with the reference".into(), iteration, "CC, %", of_cc)),
        ("figure-8", plot(profile_of("points", "8"), "x, mm", "decays/mm³", profiles(&points))),
        ("figure-9a", plot("Figure 9(a). FWHM of the first and the last point".into(), iteration, "mm", of_fwhm)),
        ("figure-9b", plot("Figure 9(b). Its difference from the reference".into(), iteration, "%", fwhm_off)),
    ])
}

/// Writes the curves of figures 4 to 6 and 9, and the profiles of figures 3(e) and 8, as CSV.
pub fn write_curves(context: &Context) -> Result<(), ReproduceError> {
    let mut curves = vec![["scan", "implementation", "iteration", "quantity", "value"].map(String::from)];
    let mut profiles = vec![["scan", "implementation", "x_mm", "value"].map(String::from)];
    for scan in [Scan::Rods, Scan::Ellipsoid] {
        for (implementation, run) in context.runs(scan)? {
            for sample in &run.samples {
                let mut quantities: Vec<(String, Option<f64>)> =
                    vec![("correlation".into(), sample.correlation), ("lost".into(), sample.lost)];
                if let Some(noise) = &sample.noise {
                    let regions = ["hot", "warm", "cold"].into_iter().zip(noise.cv);
                    quantities.extend(regions.map(|(name, cv)| (format!("cv_{name}"), cv)));
                    quantities.push(("cnr".into(), noise.cnr));
                }
                for (point, width) in (1..).zip(&sample.widths) {
                    quantities.push((format!("fwhm_{point}_mm"), width.fwhm_mm));
                    quantities.push((format!("at_half_{point}_mm"), width.at_half_mm));
                }
                for (quantity, value) in quantities {
                    let Some(value) = value else { continue };
                    let iteration = sample.iteration.to_string();
                    curves.push([scan.name(), implementation.title(), iteration, quantity, value.to_string()]);
                }
            }
            let row = |[x, value]: &[f64; 2]| [scan.name(), implementation.title(), x.to_string(), value.to_string()];
            profiles.extend(run.profile.iter().map(row));
        }
    }
    context.folder.write_csv("curves.csv", &curves)?;
    context.folder.write_csv("profiles.csv", &profiles)
}
