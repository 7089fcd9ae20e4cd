//! Images as they arrive: slices are put into a copy of the last whole image, parts are joined.

use std::sync::Arc;

use super::WireError;
use super::image::{num_in_slices, put_slices, unpack, within};
use super::images_out::PART;
use super::messages::{ImageHead, PartHead, SlicesHead};
use crate::data::Volume;
use crate::geometry::Grid;
use crate::session::frames::FrameSender;
use crate::session::{Frame, RunId};

/// What has come so far.
#[derive(Default)]
pub struct ImagesIn {
    /// The last whole image, and its run.
    last: Option<(RunId, Arc<Volume>)>,
    /// One that is not whole yet: which, whether it is of the past, its values so far.
    coming: Option<(ImageHead, bool, Vec<f32>)>,
}

/// A frame of an image.
fn frame(image: &ImageHead, volume: Volume, slices: Option<[usize; 3]>) -> Frame {
    let ImageHead { run, iteration, subiteration, extremes, .. } = *image;
    Frame { run, iteration, subiteration, volume: Arc::new(volume), extremes, slices }
}

impl ImagesIn {
    /// The line is another one: what was half there comes again.
    pub fn begin_line(&mut self) {
        self.coming = None;
    }

    /// Three slices have come, of a run on this grid.
    ///
    /// # Errors
    /// They are none of this grid.
    pub fn slices(&mut self, head: &SlicesHead, bytes: &[u8], grid: &Grid, buffers: &FrameSender) -> Result<Frame, WireError> {
        if within(head.at, grid) != head.at {
            return Err(WireError::cannot_be(format!("slices through voxel {:?}, of {:?}", head.at, grid.size)));
        }
        let values = unpack(bytes, num_in_slices(grid))?;
        let mut volume = buffers.buffer(grid, head.image.unit);
        match &self.last {
            Some((run, last)) if *run == head.image.run => volume.as_mut_slice().copy_from_slice(last.as_slice()),
            _ => volume.as_mut_slice().fill(0.0),
        }
        put_slices(&mut volume, head.at, &values);
        Ok(frame(&head.image, volume, Some(head.at)))
    }

    /// A part has come, of a run on this grid; with the last the whole image and whether it is one of the past.
    ///
    /// # Errors
    /// It is not the next part of such an image.
    pub fn part(&mut self, head: &PartHead, bytes: &[u8], grid: &Grid) -> Result<Option<(Frame, bool)>, WireError> {
        let PartHead { image, is_past, first, num } = *head;
        let which = (image.run, image.subiteration, is_past);
        let before = self.coming.take().filter(|_| first > 0).filter(|(i, past, _)| (i.run, i.subiteration, *past) == which);
        let mut values = before.map_or_else(Vec::new, |(.., values)| values);
        let left = grid.num_voxels() - values.len();
        if first != values.len() || num == 0 || num > left.min(PART) {
            let have = values.len();
            return Err(WireError::cannot_be(format!("{num} values from {first} on after {have} of {}", grid.num_voxels())));
        }
        values.extend(unpack(bytes, num)?);
        if num < left {
            self.coming = Some((image, is_past, values));
            return Ok(None);
        }
        let volume = Volume::from_vec(grid.clone(), values, image.unit);
        let frame = frame(&image, volume.ok_or_else(|| WireError::cannot_be("an image of another size"))?, None);
        if !is_past {
            self.last = Some((image.run, Arc::clone(&frame.volume)));
        }
        Ok(Some((frame, is_past)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::framing::{decode, read_message};
    use super::super::images_out::ImagesOut;
    use super::super::messages::ToWindow;
    use super::*;
    use crate::session::frames::frame_channel;

    fn image(subiteration: usize) -> Frame {
        let mut volume = Volume::filled(Grid::centred([60, 50, 40], [1.0; 3]).unwrap(), 0.0);
        // Nothing that can be compressed.
        let noise = |i: u32| f32::from_bits(0x3f80_0000 | (i.wrapping_mul(0x9e37_79b9) >> 9));
        volume.as_mut_slice().iter_mut().enumerate().for_each(|(i, value)| *value = noise((i + 7 * subiteration) as u32));
        let extremes = volume.extremes();
        Frame { run: 1, iteration: subiteration, subiteration, volume: Arc::new(volume), extremes, slices: None }
    }

    /// Everything that may be sent now, as it is received: what it is, and bytes of parts.
    fn receive(out: &mut ImagesOut, into: &mut ImagesIn, grid: &Grid) -> (Vec<Frame>, usize) {
        let (sender, _receiver) = frame_channel();
        let (mut frames, mut num_bytes) = (Vec::new(), 0);
        while let Some(bytes) = out.next().unwrap() {
            let message = read_message(&mut &bytes[..]).unwrap();
            match decode(&message).unwrap() {
                (ToWindow::Slices(head), bytes) => frames.push(into.slices(&head, bytes, grid, &sender).unwrap()),
                (ToWindow::Part(head), bytes) => {
                    num_bytes += bytes.len();
                    frames.extend(into.part(&head, bytes, grid).unwrap().map(|(frame, _)| frame));
                }
                other => panic!("{other:?}"),
            }
        }
        (frames, num_bytes)
    }

    #[test]
    fn slices_go_first_and_the_newest_image_wins() {
        let (mut out, mut into) = (ImagesOut::default(), ImagesIn::default());
        let (first, second, third) = (image(1), image(2), image(3));
        let grid = first.volume.grid.clone();
        out.look_at([30, 25, 20]);
        out.set_newest(first.clone());
        // Slices at once, then parts until the line is full.
        let (frames, num_bytes) = receive(&mut out, &mut into, &grid);
        assert_eq!(frames.iter().map(|frame| (frame.subiteration, frame.slices)).collect::<Vec<_>>(), [(1, Some([30, 25, 20]))]);
        assert_eq!(frames[0].volume.values[[20, 1, 2]], first.volume.values[[20, 1, 2]]);
        assert_eq!((frames[0].volume.values[[0, 0, 0]], first.volume.values[[0, 0, 0]] >= 1.0), (0.0, true));
        // While they wait two newer ones come: slices of each as the line takes them, and the first goes on.
        out.set_newest(second);
        let slices =
            |frames: &[Frame]| frames.iter().filter(|frame| frame.slices.is_some()).map(|f| f.subiteration).collect::<Vec<_>>();
        assert_eq!(slices(&receive(&mut out, &mut into, &grid).0), [2]);
        out.set_newest(third.clone());
        assert_eq!(slices(&receive(&mut out, &mut into, &grid).0), [0; 0], "two are under way");
        let mut seen = Vec::new();
        let (mut slices_there, mut bytes) = (2, num_bytes);
        for _ in 0..20 {
            out.arrived(slices_there, bytes).unwrap();
            let (frames, more) = receive(&mut out, &mut into, &grid);
            slices_there = slices(&frames).len();
            bytes = more;
            seen.extend(frames);
        }
        let wholes: Vec<_> = seen.iter().filter(|frame| frame.slices.is_none()).collect();
        assert_eq!((slices(&seen), wholes.iter().map(|f| f.subiteration).collect::<Vec<_>>()), (vec![3], vec![1, 3]));
        assert_eq!((&wholes[0].volume, &wholes[1].volume), (&first.volume, &third.volume));
        assert_eq!(wholes[1].extremes, third.extremes);
        // Slices of a whole image that is there are put into it.
        out.look_at([0, 99, 0]);
        let (frames, _) = receive(&mut out, &mut into, &grid);
        assert_eq!((frames[0].slices, &frames[0].volume), (Some([0, 49, 0]), &third.volume));
        assert!(out.arrived(2, 0).is_err(), "one is under way");
        // What was asked for goes before what is newer; after another line everything is said again.
        let fourth = image(4);
        let Frame { run, iteration, subiteration, volume, extremes, .. } = first;
        out.set_newest(fourth);
        out.ask(crate::session::Kept { run, iteration, subiteration, volume, extremes });
        out.begin_line();
        into.begin_line();
        let mut wholes = Vec::new();
        for _ in 0..20 {
            let (frames, more) = receive(&mut out, &mut into, &grid);
            out.arrived(slices(&frames).len(), more).unwrap();
            wholes.extend(frames.iter().filter(|frame| frame.slices.is_none()).map(|frame| frame.subiteration));
        }
        assert_eq!(wholes, [1, 4]);
    }

    #[test]
    fn what_cannot_be_a_part_is_refused() {
        let grid = Grid::centred([60, 50, 40], [1.0; 3]).unwrap();
        let head = ImageHead { run: 1, iteration: 0, subiteration: 0, unit: crate::data::Unit::Mm, extremes: Default::default() };
        let part = |first, num| PartHead { image: head, is_past: false, first, num };
        let bytes = super::super::image::pack(&vec![1.0; PART]);
        for (first, num) in [(1, PART), (0, 0), (0, PART + 1), (0, PART - 1), (usize::MAX, PART), (0, usize::MAX)] {
            assert!(ImagesIn::default().part(&part(first, num), &bytes, &grid).is_err(), "{first} {num}");
        }
        let mut images = ImagesIn::default();
        assert!(images.part(&part(0, PART), &bytes, &grid).unwrap().is_none());
        assert!(images.part(&part(PART + 1, PART), &bytes, &grid).is_err());
    }
}
