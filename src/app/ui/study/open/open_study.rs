//! The open study: sinograms, a crystal-pair histogram, list-mode data, or an EPRI acquisition.

use std::any::Any;
use std::sync::Arc;

use super::open_counts::OpenCounts;
use super::open_images::OpenImages;
use super::open_kind::OpenKind;
use super::open_list::{Following, OpenList};
use super::open_oximetry::OpenOximetry;
use super::open_pairs::OpenPairs;
use super::open_sweep::{Arrivals, OpenSweep};
use crate::data::{Notice, Study};
use crate::plan::{Data, ListAcquisition, ListData, ListFiles, StudyFiles};
use crate::remote::RemoteStudy;
use crate::session::Feed;

pub struct OpenStudy {
    pub study: Arc<Study<Data>>,
    /// Voxels of its image along x, y, z; `None`: the default grid.
    pub size: Option<[usize; 3]>,
    /// State of the window for its kind of data.
    pub data: Box<dyn OpenKind>,
}

impl OpenStudy {
    /// Returns the open study of these files; `None`: it was simulated.
    pub fn new(study: Study<Data>, files: Option<StudyFiles>) -> Self {
        let path = || files.as_ref().map(|files| files.measured().to_owned());
        let data: Box<dyn OpenKind> = match &study.measured {
            Data::Counts(counts) => {
                let files = files.and_then(|files| if let StudyFiles::Counts(files) = files { Some(files) } else { None });
                Box::new(OpenCounts::new(counts.clone(), files))
            }
            Data::Pairs(pairs) => Box::new(OpenPairs::new(pairs.clone(), path())),
            Data::Events(data) => {
                let path = path().unwrap_or_default();
                let files = files.and_then(|files| if let StudyFiles::Events(files) = files { Some(files) } else { None });
                Box::new(OpenList::new(data.list.clone(), files.unwrap_or_else(|| ListFiles::of(&path))))
            }
            Data::Images(series) => Box::new(OpenImages::new(Arc::clone(series), path())),
            Data::Oximetry(series) => Box::new(OpenOximetry { series: Arc::clone(series), path: path() }),
            Data::Sweep(acquisition) => {
                let files = files.and_then(|files| if let StudyFiles::Sweep(files) = files { Some(files) } else { None });
                Box::new(OpenSweep::new(acquisition.clone(), files))
            }
        };
        Self { study: Arc::new(study), size: None, data }
    }

    /// Returns an open study with its counts and events on the server.
    pub fn remote(RemoteStudy { study, files, counted, calibration }: RemoteStudy) -> Self {
        let mut open = Self::new(study, Some(files));
        if let (Some(open), Some(counted)) = (open.counts_mut(), counted) {
            (open.total, open.subset_rule) = counted;
            open.calibration_of_server = calibration;
        }
        open
    }

    /// Returns the data of the next run: during a replay the projections so far.
    pub fn to_reconstruct(&self) -> Arc<Study<Data>> {
        let replay = self.sweep().filter(|open| open.is_replay());
        replay.map_or_else(|| Arc::clone(&self.study), |open| self.study_with(Data::from(open.acquisition.clone())))
    }

    /// Follows a growing file of list-mode data.
    pub fn follow_list(&mut self, acquisition: ListAcquisition, feed: Feed) {
        if let Some(open) = self.list_mut() {
            let (list, growing) = (open.list.clone(), Some(acquisition.clone()));
            open.following = Some(Following { acquisition, feed });
            self.set_data(ListData { list, growing }.into());
        }
    }

    /// Receives new events of a growing file. Returns its notices once it is complete.
    pub fn update_list(&mut self) -> Option<Vec<Notice>> {
        let open = self.list_mut()?;
        let notices = open.update()?;
        let list = open.list.clone();
        self.set_data(Data::from(list));
        Some(notices)
    }

    /// Returns the state of the window for its kind of data.
    pub fn kind(&self) -> &dyn OpenKind {
        &*self.data
    }

    fn set_data(&mut self, data: Data) {
        self.study = self.study_with(data);
    }

    fn study_with(&self, data: Data) -> Arc<Study<Data>> {
        Arc::new(Study::clone(&self.study).map(|_| data))
    }

    pub fn arrivals(&self) -> Arrivals {
        self.sweep().map_or(Arrivals::Over, OpenSweep::arrivals)
    }

    pub fn title(&self) -> &str {
        &self.study.title
    }
}

/// Access to the open data by their kind.
macro_rules! open_data {
    ($($get:ident, $get_mut:ident: $open:ty;)*) => {
        impl OpenStudy {
            $(
                /// Returns the open data if they are of this kind.
                pub fn $get(&self) -> Option<&$open> {
                    (&*self.data as &dyn Any).downcast_ref()
                }

                /// Returns the open data for changes if they are of this kind.
                pub fn $get_mut(&mut self) -> Option<&mut $open> {
                    (&mut *self.data as &mut dyn Any).downcast_mut()
                }
            )*
        }
    };
}

open_data! {
    counts, counts_mut: OpenCounts;
    pairs, pairs_mut: OpenPairs;
    list, list_mut: OpenList;
    sweep, sweep_mut: OpenSweep;
    oximetry, oximetry_mut: OpenOximetry;
    images, images_mut: OpenImages;
}
