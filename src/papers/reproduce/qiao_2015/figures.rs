//! Figures 1 to 3 as plots and 4 and 5 as pictures. The first three follow section 4.1: the times of the programs by the size of
//! the object, their growth with the number of voxels, and the acceleration factors.

use super::plan::Plan;
use super::program::Program;
use super::stages::Work;
use super::tables::sizes;
use super::times::{AllTimes, Column, FACTORS, Timed, columns_of_ours, columns_of_paper};
use super::{Context, published};
use crate::report::{Axes, Plot, Series};
use crate::reproduce::picture::{Panel, middle_coronal, write_plots, write_slices};
use crate::reproduce::prelude::*;

/// White in pictures, relative to the density of the solution.
const WHITE: f64 = 1.25;
/// Half of the window of a difference, relative to that density.
const DIFFERENCE: f64 = 0.1;

/// Writes the figures; returns a description of each.
pub fn write(context: &Context, times: &AllTimes) -> Result<Vec<String>, ReproduceError> {
    let (plan, device) = (&context.plan, context.device);
    let plots = [time_plot(plan, device, times), growth_plot(plan, device, times), factor_plot(plan, device, times)];
    let is_measured = times.iter().next().is_some();
    let plots = ["figure-1", "figure-2", "figure-3"].into_iter().zip(plots).filter(|_| is_measured);
    Ok([write_plots(&context.folder, plots)?, write_pictures(context)?].concat())
}

/// Returns the drawn columns: all but the transfer alone.
fn drawn(device: DeviceChoice) -> Vec<Column> {
    let all = columns_of_paper(device).into_iter().chain(columns_of_ours(device));
    all.filter(|column| column.part != Timed::Transfer).collect()
}

/// Returns the published and the measured line of a quantity.
fn lines(
    name: &str,
    colour: usize,
    plan: &Plan,
    paper: impl Fn(&published::Row) -> Option<[f64; 2]>,
    here: impl Fn(usize) -> Option<[f64; 2]>,
) -> Vec<Series> {
    let published = published::TIMES.iter().filter_map(paper).collect();
    let measured = plan.sizes.iter().filter_map(|&size| here(size)).collect();
    let line = |points: Vec<[f64; 2]>, is_published| {
        let name = format!("{name}, {}", if is_published { "published" } else { "here" });
        (!points.is_empty()).then_some(Series { name, colour, is_published, points })
    };
    [line(published, true), line(measured, false)].into_iter().flatten().collect()
}

/// Returns a plot with a tick at each size of an object.
fn size_plot(plan: &Plan, title: &str, y_title: &str, lines: Vec<Series>) -> Plot {
    let x_ticks = sizes(plan).into_iter().map(|size| (size as f64, format!("{size}³"))).collect();
    let x_title = "voxels of the object".into();
    Plot { axes: Axes::Logarithmic, title: title.into(), x_title, y_title: y_title.into(), x_ticks, lines }
}

/// Returns figure 1.
fn time_plot(plan: &Plan, device: DeviceChoice, times: &AllTimes) -> Plot {
    let of_column = |(colour, column): (usize, Column)| {
        let paper = |row: &published::Row| Some([row.size as f64, column.paper?(row)]);
        let here = |size: usize| Some([size as f64, times.secs(size, &column)?.0]);
        lines(column.name, colour, plan, paper, here)
    };
    let lines = drawn(device).into_iter().enumerate().flat_map(of_column).collect();
    size_plot(plan, "Figure 1. Time of a backprojection", "time, s", lines)
}

/// Returns figure 2.
fn growth_plot(plan: &Plan, device: DeviceChoice, times: &AllTimes) -> Plot {
    let first = published::TIMES[0];
    let voxels = |size: usize| (size as f64 / first.size as f64).powi(3);
    let of_column = |(colour, column): (usize, Column)| {
        let paper = |row: &published::Row| {
            let secs = column.paper?;
            Some([voxels(row.size), secs(row) / secs(&first)])
        };
        let here = |size: usize| Some([voxels(size), times.growth(size, first.size, &column)?]);
        lines(column.name, colour, plan, paper, here)
    };
    Plot {
        axes: Axes::Logarithmic,
        title: "Figure 2. Time relative to the paper's smallest object's".into(),
        x_title: format!("voxels relative to {}³", first.size),
        y_title: "relative time".into(),
        x_ticks: [1.0, 2.0, 5.0, 10.0, 20.0, 30.0].map(|x| (x, format!("{x}"))).into(),
        lines: drawn(device).into_iter().enumerate().flat_map(of_column).collect(),
    }
}

/// Returns figure 3.
fn factor_plot(plan: &Plan, device: DeviceChoice, times: &AllTimes) -> Plot {
    let columns = columns_of_paper(device);
    let mut all = Vec::new();
    for (k, (slow, fast)) in FACTORS.into_iter().enumerate() {
        let paper = |row: &published::Row| Some([row.size as f64, row.factors[k]]);
        let here = |size: usize| Some([size as f64, times.ratio(size, &columns[slow], &columns[fast])?]);
        all.extend(lines(published::FACTORS[k], k, plan, paper, here));
    }
    for (k, column) in columns_of_ours(device).into_iter().filter(|column| column.part != Timed::Transfer).enumerate() {
        let here = |size: usize| Some([size as f64, times.ratio(size, &columns[4], &column)?]);
        all.extend(lines(&format!("{} vs. CS", column.name), FACTORS.len() + k, plan, |_| None, here));
    }
    size_plot(plan, "Figure 3. Acceleration factors", "times faster", all)
}

/// Writes figures 4 and 5: the slice along the bottle through its axis, and its difference from that of CS.
fn write_pictures(context: &Context) -> Result<Vec<String>, ReproduceError> {
    let (device, folder, mut images) = (context.device, &context.folder, Vec::new());
    // The paper's order.
    let programs = [Program::gs(device), Some(Program::Plain), Some(Program::MultiStage), Some(Program::SingleStage)];
    for program in programs.into_iter().flatten().chain(Program::fast(device)) {
        if let Some(volume) = context.load_image(&Work::Image(program))? {
            images.push((program, middle_coronal(&volume)?));
        }
    }
    if images.is_empty() {
        return Ok(Vec::new());
    }
    let name = |program: Program| program.paper_name().map_or_else(|| program.title(), String::from);
    let titles = |images: &[&(Program, Volume)]| images.iter().map(|(program, _)| name(*program)).collect::<Vec<_>>().join("; ");
    let panel = |volume, minus, [low, high]: [f64; 2]| Panel { volume, minus, low, high };
    let mut descriptions = Vec::new();
    let panels: Vec<Panel> = images.iter().map(|(_, volume)| panel(volume, None, [0.0, WHITE])).collect();
    write_slices(folder, "figures/figure-4.png", &panels, 0)?;
    let all: Vec<_> = images.iter().collect();
    descriptions.push(format!(
        "figures/figure-4.png: along the bottle; black 0, white {WHITE} x its density; from the left: {}",
        titles(&all)
    ));
    let Some((_, plain)) = images.iter().find(|(program, _)| *program == Program::Plain) else { return Ok(descriptions) };
    let others: Vec<_> = images.iter().filter(|(program, _)| *program != Program::Plain).collect();
    if !others.is_empty() {
        let window = [-DIFFERENCE, DIFFERENCE];
        let panels: Vec<Panel> = others.iter().map(|(_, volume)| panel(volume, Some(plain), window)).collect();
        write_slices(folder, "figures/figure-5.png", &panels, 0)?;
        descriptions.push(format!(
            "figures/figure-5.png: the same minus CS; from -{DIFFERENCE} to {DIFFERENCE} x the density; from the left: {}",
            titles(&others)
        ));
    }
    Ok(descriptions)
}
