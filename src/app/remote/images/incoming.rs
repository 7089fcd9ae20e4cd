//! Images that arrive in pieces: slices are written into a copy of the last whole image.

use std::sync::Arc;

use super::outgoing::PIECE;
use super::slices::{num_in_slices, put_slices, within};
use crate::data::{IterateId, Volume};
use crate::geometry::Grid;
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::messages::{ImageHead, PieceHead, PieceOf};
use crate::session::{FrameSender, IterateUpdate, RunId, Volumes, VolumesOf, unpack};

/// Maximum number of volumes of an iterate.
const MAX_VOLUMES: usize = 16;

#[derive(Default)]
pub struct IncomingImages {
    /// Run and last whole image.
    last: Option<(RunId, Arc<Volume>)>,
    slices: Option<Partial>,
    whole: Option<Partial>,
    /// Incomplete volumes of an iterate.
    volumes: Option<Volumes>,
}

/// Incomplete array: its image, and the values that have arrived.
struct Partial {
    image: ImageHead,
    of: PieceOf,
    values: Vec<f32>,
}

/// Returns an image for the window.
fn update(image: &ImageHead, volume: Volume, slices: Option<[usize; 3]>) -> IterateUpdate {
    IterateUpdate { id: image.id, volume: Arc::new(volume), on_device: None, extremes: image.extremes, slices }
}

impl IncomingImages {
    /// Begins a new connection: incomplete arrays are sent again.
    pub fn begin_connection(&mut self) {
        (self.slices, self.whole, self.volumes) = (None, None, None);
    }

    /// Adds a piece of a run on this grid. Returns the image after the last piece of its slices or values.
    ///
    /// # Errors
    /// It is not the next piece of an image.
    pub fn receive(
        &mut self,
        head: &PieceHead,
        bytes: &[u8],
        grid: &Grid,
        buffers: &FrameSender,
    ) -> Result<Option<IterateUpdate>, RemoteError> {
        let PieceHead { image, of, first, num } = *head;
        let (total, partial) = match of {
            PieceOf::Slices(at) if within(at, grid) != at => {
                return Err(RemoteError::invalid(format!("slices through voxel {at:?}, of {:?}", grid.size)));
            }
            PieceOf::Slices(_) => (num_in_slices(grid), &mut self.slices),
            PieceOf::Newest | PieceOf::Stored | PieceOf::Volumes { .. } => (grid.num_voxels(), &mut self.whole),
        };
        let is_of = |partial: &Partial| {
            (partial.image.id.run, partial.image.id.subiteration, partial.of) == (image.id.run, image.id.subiteration, of)
        };
        let before = partial.take().filter(|partial| first > 0 && is_of(partial));
        let mut values = before.map_or_else(|| Vec::with_capacity(total), |partial| partial.values);
        let remaining = total - values.len();
        if first != values.len() || num == 0 || num > remaining.min(PIECE[1]) {
            return Err(RemoteError::invalid(format!("{num} values from {first} on after {} of {total}", values.len())));
        }
        unpack(bytes, num, &mut values).map_err(RemoteError::invalid)?;
        if num < remaining {
            *partial = Some(Partial { image, of, values });
            return Ok(None);
        }
        match of {
            PieceOf::Slices(at) => Ok(Some(self.with_slices(&image, at, &values, grid, buffers))),
            PieceOf::Newest | PieceOf::Stored | PieceOf::Volumes { .. } => self.whole(&image, of, values, grid).map(Some),
        }
    }

    /// Adds the next one of several volumes. Returns all of them after the last.
    ///
    /// # Errors
    /// It is not the next.
    pub fn join(
        &mut self,
        id: IterateId,
        of: VolumesOf,
        [index, num]: [usize; 2],
        volume: Arc<Volume>,
    ) -> Result<Option<Volumes>, RemoteError> {
        let before = self.volumes.take().filter(|all| index > 0 && (all.id, all.of) == (id, of));
        let mut all = before.unwrap_or(Volumes { id, of, volumes: Vec::new() });
        if index != all.volumes.len() || index >= num.min(MAX_VOLUMES) {
            return Err(RemoteError::invalid(format!("volume {index} of {num} after {}", all.volumes.len())));
        }
        all.volumes.push(volume);
        if index + 1 == num {
            return Ok(Some(all));
        }
        self.volumes = Some(all);
        Ok(None)
    }

    /// Returns an image with these slices, and the other values of the last whole one.
    fn with_slices(
        &self,
        image: &ImageHead,
        at: [usize; 3],
        values: &[f32],
        grid: &Grid,
        buffers: &FrameSender,
    ) -> IterateUpdate {
        let mut volume = buffers.buffer(grid, image.unit);
        match &self.last {
            Some((run, last)) if *run == image.id.run => volume.as_mut_slice().copy_from_slice(last.as_slice()),
            _ => volume.as_mut_slice().fill(0.0),
        }
        put_slices(&mut volume, at, values);
        update(image, volume, Some(at))
    }

    fn whole(&mut self, image: &ImageHead, of: PieceOf, values: Vec<f32>, grid: &Grid) -> Result<IterateUpdate, RemoteError> {
        let volume = Volume::from_vec(grid.clone(), values, image.unit);
        let frame = update(image, volume.ok_or_else(|| RemoteError::invalid("an image of another size"))?, None);
        if of == PieceOf::Newest {
            self.last = Some((image.id.run, Arc::clone(&frame.volume)));
        }
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::outgoing::OutgoingImages;
    use super::*;
    use crate::remote::protocol::framing::{decode, read_message};
    use crate::remote::protocol::messages::ToClient;
    use crate::session::{StoredIterate, frame_channel, pack};

    const MS: Duration = Duration::from_millis(1);

    fn image(subiteration: usize) -> IterateUpdate {
        let mut volume = Volume::filled(Grid::centred([60, 50, 40], [1.0; 3]).unwrap(), 0.0);
        // Neighbours have nothing in common.
        let noise = |i: u32| f32::from_bits(0x3f80_0000 | ((i ^ i >> 7).wrapping_mul(i | 1).wrapping_mul(0x9e37_79b9) >> 9));
        volume.as_mut_slice().iter_mut().enumerate().for_each(|(i, value)| *value = noise((i + 7 * subiteration) as u32));
        let extremes = volume.extremes();
        let id = IterateId { run: 1, iteration: subiteration, subiteration };
        IterateUpdate { id, volume: Arc::new(volume), on_device: None, extremes, slices: None }
    }

    /// Receives a piece. Returns what it completes, and its number of bytes.
    fn receive(message: &[u8], into: &mut IncomingImages, grid: &Grid) -> (PieceOf, Option<IterateUpdate>, usize) {
        let (sender, _receiver) = frame_channel();
        let message = read_message(&mut &message[..]).unwrap();
        match decode(&message).unwrap() {
            (ToClient::Piece(head), bytes) => (head.of, into.receive(&head, bytes, grid, &sender).unwrap(), bytes.len()),
            other => panic!("{other:?}"),
        }
    }

    /// Sends and receives all that may be sent now. Returns the images and the number of pieces.
    fn receive_all(
        out: &mut OutgoingImages,
        into: &mut IncomingImages,
        grid: &Grid,
        now: Instant,
    ) -> (Vec<IterateUpdate>, usize) {
        let messages: Vec<Vec<u8>> = std::iter::from_fn(|| out.next(now).unwrap()).collect();
        (messages.iter().filter_map(|message| receive(message, into, grid).1).collect(), messages.len())
    }

    fn steps(frames: &[IterateUpdate], are_slices: bool) -> Vec<usize> {
        frames.iter().filter(|frame| frame.slices.is_some() == are_slices).map(|frame| frame.id.subiteration).collect()
    }

    #[test]
    fn slices_go_first_and_the_newest_image_wins() {
        let (mut out, mut into) = (OutgoingImages::default(), IncomingImages::default());
        let (first, second, third) = (image(1), image(2), image(3));
        let (grid, mut now) = (first.volume.grid.clone(), Instant::now());
        out.show_slices([30, 25, 20]);
        out.set_newest(first.clone(), now);
        // Slices first, then pieces of the whole image until the connection is full.
        let (frames, mut in_flight) = receive_all(&mut out, &mut into, &grid, now);
        assert_eq!(
            frames.iter().map(|frame| (frame.id.subiteration, frame.slices)).collect::<Vec<_>>(),
            [(1, Some([30, 25, 20]))]
        );
        assert_eq!(frames[0].volume.values[[20, 1, 2]], first.volume.values[[20, 1, 2]]);
        assert_eq!((frames[0].volume.values[[0, 0, 0]], first.volume.values[[0, 0, 0]] >= 1.0), (0.0, true));
        assert!(in_flight > 5 && in_flight < grid.num_voxels() / PIECE[0], "{in_flight}");
        // Two newer images arrive meanwhile: slices are of the newest, and the first whole image continues.
        out.set_newest(second, now);
        out.set_newest(third.clone(), now);
        let mut seen = Vec::new();
        while in_flight > 0 {
            now += 2 * in_flight as u32 * MS;
            out.received(in_flight, now).unwrap();
            let (frames, num) = receive_all(&mut out, &mut into, &grid, now);
            seen.extend(frames);
            in_flight = num;
        }
        assert_eq!((steps(&seen, true), steps(&seen, false)), (vec![3], vec![1, 3]));
        let wholes: Vec<_> = seen.iter().filter(|frame| frame.slices.is_none()).collect();
        assert_eq!((&wholes[0].volume, &wholes[1].volume), (&first.volume, &third.volume));
        assert_eq!(wholes[1].extremes, third.extremes);
        // A whole image has all slices; those of the next are written into a copy of it.
        out.show_slices([0, 99, 0]);
        assert_eq!(receive_all(&mut out, &mut into, &grid, now).1, 0);
        out.set_newest(image(4), now);
        let (frames, num) = receive_all(&mut out, &mut into, &grid, now);
        assert_eq!((frames[0].slices, frames[0].volume.values[[5, 5, 5]]), (Some([0, 49, 0]), third.volume.values[[5, 5, 5]]));
        assert!(out.received(num + 1, now).is_err(), "{num} are in flight");
        // A requested image goes before a newer one; after a new connection all is sent again.
        let IterateUpdate { id, volume, extremes, .. } = first;
        out.request(StoredIterate { id, volume, extremes });
        out.begin_connection();
        into.begin_connection();
        let mut wholes = Vec::new();
        for _ in 0..20 {
            let (frames, num) = receive_all(&mut out, &mut into, &grid, now);
            now += 2 * num as u32 * MS;
            out.received(num, now).unwrap();
            wholes.extend(steps(&frames, false));
        }
        assert_eq!(wholes, [1, 4]);
    }

    #[test]
    fn slices_arrive_during_a_whole_image_and_leave_it_most_of_the_connection() {
        let (mut out, mut into) = (OutgoingImages::default(), IncomingImages::default());
        let (grid, mut now) = (image(0).volume.grid.clone(), Instant::now());
        let (mut bytes, mut frames, mut num_steps) = ([0, 0], Vec::new(), 0);
        // One iterate for each piece, until three whole images have arrived.
        while steps(&frames, false).len() < 3 {
            num_steps += 1;
            out.set_newest(image(num_steps), now);
            let Some(message) = out.next(now).unwrap() else { panic!("nothing after {num_steps}") };
            let (of, frame, num) = receive(&message, &mut into, &grid);
            bytes[usize::from(matches!(of, PieceOf::Slices(_)))] += num;
            frames.extend(frame);
            now += 20 * MS;
            out.received(1, now).unwrap();
        }
        let [of_wholes, of_slices] = bytes;
        let part = of_slices as f64 / (of_slices + of_wholes) as f64;
        assert!((0.25..0.4).contains(&part), "{part}");
        for frame in &frames {
            let whole = image(frame.id.subiteration).volume;
            let is_in = |z: usize, y: usize, x: usize| frame.slices.is_none() || z == 0 || y == 0 || x == 0;
            let is_same =
                |((z, y, x), value): ((usize, usize, usize), &f32)| !is_in(z, y, x) || *value == whole.values[[z, y, x]];
            assert!(frame.volume.values.indexed_iter().all(is_same), "of step {}", frame.id.subiteration);
        }
        // Each whole image is the newest at the end of the one before.
        let wholes = steps(&frames, false);
        assert!(wholes.is_sorted() && wholes[1] > 10 && wholes[2] > wholes[1] + 10, "{wholes:?} of {num_steps}");
    }

    #[test]
    fn over_a_fast_connection_whole_images_go_alone_in_large_pieces() {
        let (mut out, mut into) = (OutgoingImages::default(), IncomingImages::default());
        let (grid, mut now) = (image(0).volume.grid.clone(), Instant::now());
        let mut sent = Vec::new();
        for step in 1..=6 {
            out.set_newest(image(step), now);
            while let Some(message) = out.next(now).unwrap() {
                let (of, frame, num_bytes) = receive(&message, &mut into, &grid);
                assert!(frame.is_none_or(|frame| frame.slices.is_some() || frame.volume == image(step).volume));
                sent.push((step, of, num_bytes));
                // Half a gigabyte a second.
                now += Duration::from_nanos(2 * num_bytes as u64);
                out.received(1, now).unwrap();
            }
        }
        let of =
            |step: usize| sent.iter().filter(move |(of, ..)| *of == step).map(|(_, of, num)| (*of, *num)).collect::<Vec<_>>();
        assert!(of(1).len() > 14 && of(1).iter().any(|(of, _)| *of == PieceOf::Slices([0; 3])));
        assert_eq!(of(6), [(PieceOf::Newest, 4 << 16), (PieceOf::Newest, 4 * (120_000 - (1 << 16)))]);
    }

    #[test]
    fn an_invalid_piece_is_refused() {
        let grid = Grid::centred([60, 50, 40], [1.0; 3]).unwrap();
        let id = IterateId { run: 1, iteration: 0, subiteration: 0 };
        let image = ImageHead { id, unit: crate::data::Unit::Mm, extremes: Default::default() };
        let bytes = pack(&vec![1.0; PIECE[0]]);
        let (buffers, _receiver) = frame_channel();
        let piece = PIECE[0];
        let receive = |images: &mut IncomingImages, of, first, num| {
            images.receive(&PieceHead { image, of, first, num }, &bytes, &grid, &buffers).map(|frame| frame.is_some())
        };
        let slices = PieceOf::Slices([1, 2, 3]);
        for of in [PieceOf::Newest, PieceOf::Stored, slices] {
            for (first, num) in [(1, piece), (0, 0), (0, piece + 1), (0, piece - 1), (usize::MAX, piece), (0, usize::MAX)] {
                assert!(receive(&mut IncomingImages::default(), of, first, num).is_err(), "{of:?} {first} {num}");
            }
        }
        // Slices have 7400 values; there is no voxel 60.
        assert!(receive(&mut IncomingImages::default(), slices, 0, piece).is_err());
        assert!(receive(&mut IncomingImages::default(), PieceOf::Slices([60, 0, 0]), 0, 100).is_err());
        let mut images = IncomingImages::default();
        assert!(!receive(&mut images, PieceOf::Newest, 0, piece).unwrap());
        assert!(receive(&mut images, PieceOf::Stored, piece, piece).is_err(), "it continues with another image");
        assert!(!receive(&mut images, PieceOf::Newest, 0, piece).unwrap());
        assert!(receive(&mut images, PieceOf::Newest, piece + 1, piece).is_err());
    }
}
