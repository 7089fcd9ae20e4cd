//! What the solver's end does when it is told something.

use std::sync::Arc;
use std::time::Instant;

use super::super::WireError;
use super::super::image::unpack;
use super::super::messages::{Beside, News, Order, Rois, ToServer, ToWindow};
use super::Hub;
use crate::data::{Notice, Unit, Volume};
use crate::geometry::{Grid, LENGTHS_MM};
use crate::session::{Command, CompareWith, Event, EventKind, PeakLine, RoiSet, StoredIterate};

/// Largest side of the square about a line over which is averaged.
const MAX_WIDTH_MM: f64 = 1000.0;

impl Hub {
    /// Takes in what was said.
    pub(in crate::session::wire) fn hear(&mut self, message: ToServer, brings: &[u8]) -> Result<(), WireError> {
        match message {
            ToServer::Hello { .. } => Err(WireError::cannot_be("a second greeting")),
            ToServer::Order(number, order) => {
                if self.orders.is_new(number)? {
                    self.obey(order, brings)?;
                }
                self.say(&ToWindow::HaveOrders(number))
            }
            ToServer::HaveNews(number) => self.news.arrived(number),
            ToServer::LookAt(at) => {
                self.images.look_at(at);
                Ok(())
            }
            ToServer::HavePieces(num) => self.images.arrived(num, Instant::now()),
            ToServer::Fetch(run, subiteration) => {
                let found = self.session.history(run).into_iter().find(|kept| kept.id.subiteration == subiteration);
                found.into_iter().for_each(|kept| self.images.ask(kept));
                Ok(())
            }
            ToServer::Ping(number) => self.say(&ToWindow::Pong(number)),
            ToServer::Foresee { number, study, settings } => self.foresee(number, study, settings),
        }
    }

    fn obey(&mut self, order: Order, brings: &[u8]) -> Result<(), WireError> {
        let command = match order {
            Order::Open(study, files) => return self.open(study, files),
            Order::Close(study) => {
                self.studies.close(study);
                return Ok(());
            }
            Order::Start { run, study, settings, rois, paused } => return self.start([run, study], settings, &rois, paused),
            Order::Control(control) => Command::Control(control),
            Order::SetRois(rois) => match self.regions(&rois)? {
                Some(rois) => Command::SetRois(rois),
                None => return Ok(()),
            },
            Order::RenameRois(rois) => match self.regions(&rois)? {
                Some(rois) => Command::RenameRois(rois.rois),
                None => return Ok(()),
            },
            Order::Beside(order) => return self.obey_beside(order, brings),
            Order::Bye => {
                self.is_over = true;
                return Ok(());
            }
        };
        self.session.send(command);
        Ok(())
    }

    /// Does what goes on beside the solver.
    fn obey_beside(&mut self, order: Beside, brings: &[u8]) -> Result<(), WireError> {
        match order {
            Beside::Measure(run, rois) => {
                if let Some(rois) = self.regions(&rois)? {
                    self.session.measure(run, rois);
                }
            }
            Beside::Compare(reference) => self.session.compare_with(reference.map(CompareWith::Run)),
            Beside::CompareWith { id, grid } => {
                let image = image(grid, brings)?;
                let kept = StoredIterate { id, extremes: image.extremes(), volume: Arc::new(image) };
                self.session.compare_with(Some(CompareWith::Image(kept)));
            }
            Beside::MeasurePeaks(run, line) if line.is_none_or(can_be) => self.session.measure_peaks(run, line),
            Beside::MeasurePeaks(..) => return Err(WireError::cannot_be("a line of many kilometres")),
            Beside::Keep(run) => {
                self.kept.insert(run);
                self.session.keep(run);
            }
            Beside::LetGo(run) => {
                self.kept.remove(&run);
                self.session.let_go(run);
            }
            Beside::Pin(run, subiteration, is_pinned) => self.session.pin(run, subiteration, is_pinned),
            Beside::SetHistoryBytes(bytes) => self.session.set_history_bytes(bytes),
        }
        Ok(())
    }

    /// The regions of an order; what is wrong with them is told.
    pub(super) fn regions(&mut self, rois: &Rois) -> Result<Option<RoiSet>, WireError> {
        match rois.rois(&self.rois) {
            Ok(set) => {
                self.rois = set.rois.clone();
                Ok(Some(set))
            }
            Err(reason) => {
                let notice = Notice::warning(format!("the regions are not measured: {reason}"));
                self.tell(News::Event(Event { run: self.latest, kind: EventKind::Notice(notice) }))?;
                Ok(None)
            }
        }
    }
}

/// Whether a line can be one through an image.
fn can_be(line: PeakLine) -> bool {
    line.ends_mm.as_flattened().iter().all(|mm| mm.abs() <= *LENGTHS_MM.end()) && (0.0..=MAX_WIDTH_MM).contains(&line.width_mm)
}

/// An image that a message brings.
fn image(grid: Grid, bytes: &[u8]) -> Result<Volume, WireError> {
    let mut values = Vec::new();
    unpack(bytes, grid.num_voxels(), &mut values)?;
    Volume::from_vec(grid, values, Unit::default()).ok_or_else(|| WireError::cannot_be("an image of another size"))
}
