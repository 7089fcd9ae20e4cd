//! Cache of expensive results: each is stored in the user's cache folder, under a name that describes its recipe.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use super::device_result::DeviceResult;
use crate::data::Notice;
use crate::io::IoError;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::SetupError;
use crate::task::Task;

/// Suffix of a data file after the name of its header.
const DATA_ENDING: &str = ".f32";

/// A folder with stored results.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
}

/// Recipe of a result that is worth storing.
pub(in crate::plan) trait Recipe {
    /// The result.
    type Made;

    /// Name of the result, and the verb of its passive: "tubes of response", "were".
    const NAME: [&'static str; 2];

    /// Returns a unique name, with the program's version, since a later version may improve the result.
    fn file_name(&self) -> String;

    /// Reads a stored result.
    const READ: fn(&Path) -> Result<Self::Made, IoError>;

    /// Stores a result.
    const WRITE: fn(&Path, &Self::Made) -> Result<(), IoError>;

    /// Returns true if the recipe makes this result.
    fn would_make(&self, made: &Self::Made) -> bool;

    /// Makes it on a device.
    fn make(&self, device: DeviceChoice, task: &Task) -> Result<DeviceResult<Self::Made>, SetupError>;

    /// Describes how it was made: "simulated with 10 annihilations".
    fn done(&self, made: &Self::Made) -> String;

    /// Maximum number of stored results if each study has its own (the newest stay), and the prefix of their names.
    const MAX_STORED: Option<(usize, &'static str)> = None;
}

impl Cache {
    /// Returns the user's cache: `tomoscope` in `$XDG_CACHE_HOME`, else in `.cache` of `$HOME`, on Windows in `%LOCALAPPDATA%`.
    /// Nothing is stored if none of them is set.
    pub fn of_the_user() -> Self {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .or_else(|| absolute("LOCALAPPDATA"));
        Self { folder: base.map(|base| base.join("tomoscope")) }
    }

    /// Returns this folder.
    pub fn at(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()) }
    }

    /// Returns a cache that keeps nothing.
    pub fn nowhere() -> Self {
        Self { folder: None }
    }

    /// Returns the folder, where there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the stored result, if there is one that can be read.
    pub(in crate::plan) fn find<R: Recipe>(&self, recipe: &R) -> Option<R::Made> {
        let path = self.folder.as_ref()?.join(recipe.file_name());
        stored(&path, recipe).ok()
    }

    /// Returns the stored result, or makes and stores it. Notices report which, and failures of reading or storing.
    pub(in crate::plan) fn find_or_make<R: Recipe>(
        &self,
        recipe: &R,
        device: DeviceChoice,
        task: &Task,
    ) -> Result<(R::Made, Vec<Notice>), SetupError> {
        let [name, were] = R::NAME;
        let path = self.folder.as_ref().map(|folder| folder.join(recipe.file_name()));
        let (mut notices, begin) = (Vec::new(), Instant::now());
        if let Some(path) = path.as_ref().filter(|path| path.exists()) {
            match stored(path, recipe) {
                Ok(made) => {
                    let secs = begin.elapsed().as_secs_f64();
                    return Ok((made, vec![Notice::info(format!("{name} read from the cache in {secs:.2} s"))]));
                }
                Err(reason) => notices.push(Notice::warning(format!("{reason}; {name} {were} made anew"))),
            }
        }
        let DeviceResult { result: made, device, notices: of_device } = recipe.make(device, task)?;
        notices.extend(of_device);
        let text = format!("{name} {were} {} ({device})", recipe.done(&made));
        notices.push(match path.map(|path| store::<R>(&path, &made)) {
            None => Notice::info(format!("{text}; not stored in the cache, because neither XDG_CACHE_HOME nor HOME is set")),
            Some(Ok(())) => Notice::info(format!("{text} and stored in the cache")),
            Some(Err(reason)) => Notice::warning(format!("{text}; storing it in the cache failed: {reason}")),
        });
        Ok((made, notices))
    }
}

/// Returns the stored result if the recipe makes it.
fn stored<R: Recipe>(path: &Path, recipe: &R) -> Result<R::Made, String> {
    let made = (R::READ)(path).map_err(|error| error.to_string())?;
    if recipe.would_make(&made) {
        return Ok(made);
    }
    Err(format!("the content of {} does not match its name", path.display()))
}

fn store<R: Recipe>(path: &Path, made: &R::Made) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    (R::WRITE)(path, made).map_err(|error| error.to_string())?;
    if let Some((max, beginning)) = R::MAX_STORED {
        forget_oldest(folder, max, beginning);
    }
    Ok(())
}

/// Removes all but the newest files with this prefix, each with its data file; failures are ignored.
fn forget_oldest(folder: &Path, max: usize, beginning: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let is_header = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(beginning) && !name.ends_with(DATA_ENDING)
    };
    let headers = entries.flatten().map(|entry| entry.path()).filter(is_header);
    let mut headers: Vec<_> = headers.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path))).collect();
    headers.sort();
    for (_, header) in headers.iter().take(headers.len().saturating_sub(max)) {
        let mut data = header.clone().into_os_string();
        data.push(DATA_ENDING);
        let (_, _) = (fs::remove_file(data), fs::remove_file(header));
    }
}
