//! Figures 7, 8 and 10: transverse slices of the images, side by side in a fixed window, and the difference of non-atomic from
//! atomic images. (Figures 6 and 9 are numbers: they are tables.)

use super::Context;
use super::implementation::Implementation;
use super::plan::Image;
use super::studies::Scan;
use crate::operator::Accumulation;
use crate::reproduce::picture::{Panel, write_slices};
use crate::reproduce::prelude::*;

/// Half of the window of a difference, relative to the window of the images.
const DIFFERENCE: f64 = 0.2;

/// Writes the pictures; returns a description of each.
pub fn write(context: &Context) -> Result<Vec<String>, ReproduceError> {
    let (quality, full) = (context.plan.quality_image(), context.plan.full_image());
    // White is a multiple of the mean of the uniform part.
    let figures = [
        ("figure-7", Scan::Cylinder, quality, 2.0),
        ("figure-8", Scan::Iq, quality, 4.0),
        ("figure-8", Scan::IqNoisy, quality, 4.0),
        ("figure-10", Scan::Brain, full, 5.0),
    ];
    let mut lines = Vec::new();
    for (name, scan, image, white) in figures {
        lines.extend(write_one(context, name, scan, image, white)?);
    }
    Ok(lines)
}

fn write_one(context: &Context, name: &str, scan: Scan, image: &Image, white: f64) -> Result<Option<String>, ReproduceError> {
    let phantom = scan.phantom(&context.plan)?;
    let mut images: Vec<(Implementation, Volume)> = Vec::new();
    for one in Implementation::of_images(&context.plan, context.device) {
        let is_ours = one == Implementation::reference() || one.stands_for_paper_in_images(&context.plan);
        if is_ours {
            images.extend(context.image(scan, image, one)?.map(|volume| (one, volume)));
        }
    }
    let Some(mean) = images.first().and_then(|(_, volume)| scan.uniform_mean(&phantom, volume)) else { return Ok(None) };
    let high = white * mean;
    let exact = images.iter().find(|(one, _)| one.accumulation == Accumulation::Atomic).map(|(_, volume)| volume);
    let racy = images.iter().filter(|(one, _)| one.accumulation == Accumulation::NonAtomic);
    let differences = racy.filter_map(|(one, volume)| Some((one, volume, exact?)));
    let mut panels: Vec<Panel> = images.iter().map(|(_, volume)| Panel { volume, minus: None, low: 0.0, high }).collect();
    let mut names: Vec<String> = images.iter().map(|(one, _)| one.title()).collect();
    for (one, volume, exact) in differences {
        panels.push(Panel { volume, minus: Some(exact), low: -DIFFERENCE * high, high: DIFFERENCE * high });
        names.push(format!("{} minus atomic (from -{DIFFERENCE} to {DIFFERENCE} of that window)", one.title()));
    }
    let file = format!("figures/{name}-{}.png", scan.name());
    write_slices(&context.folder, &file, &panels, image.size[2] / 2)?;
    let mut text = format!("{file}: {}; black 0, white {white} x the mean of the uniform part; from the left:", scan.title());
    for name in names {
        text += &format!("\n    {name}");
    }
    Ok(Some(text))
}
