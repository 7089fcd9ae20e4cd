//! What takes long to make is made once: it is kept in the user's cache folder, under a name that tells how it was made.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use super::histories::DeviceResult;
use crate::data::Notice;
use crate::io::IoError;
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::SetupError;
use crate::task::Task;

/// How the name of a data file goes on after that of its header.
const DATA_ENDING: &str = ".f32";

/// A folder in which what was made is kept.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
}

/// How something is made that is worth keeping.
pub(in crate::plan) trait Recipe {
    /// What is made.
    type Made;

    /// What is made, in words, and how it goes on: "tubes of response", "were".
    const NAME: [&'static str; 2];

    /// A name that tells it from others, and the program's version, since a later one may make it better.
    fn file_name(&self) -> String;

    /// Reads what was kept.
    fn read(&self, path: &Path) -> Result<Self::Made, IoError>;

    /// Keeps what was made.
    fn write(&self, path: &Path, made: &Self::Made) -> Result<(), IoError>;

    /// Whether this is what the recipe would make.
    fn would_make(&self, made: &Self::Made) -> bool;

    /// Makes it on a device.
    fn make(&self, device: DeviceChoice, task: &Task) -> Result<DeviceResult<Self::Made>, SetupError>;

    /// What was done to make it, in words: "simulated with 10 annihilations".
    fn done(&self, made: &Self::Made) -> String;

    /// How many are kept, where each study has its own: those that were made last, and the names that begin so.
    const MOST_KEPT: Option<(usize, &'static str)> = None;
}

impl Cache {
    /// That of the user: `tomoscope` in `$XDG_CACHE_HOME`, else in `.cache` of `$HOME`, on Windows in `%LOCALAPPDATA%`; nothing is
    /// kept where none of them is set.
    pub fn of_the_user() -> Self {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .or_else(|| absolute("LOCALAPPDATA"));
        Self { folder: base.map(|base| base.join("tomoscope")) }
    }

    /// This folder.
    pub fn at(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()) }
    }

    /// A cache that keeps nothing.
    pub fn nowhere() -> Self {
        Self { folder: None }
    }

    /// The folder, where there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// What the recipe makes: what is kept, or made anew and then kept. Notices tell which, and whether what is kept could not be used
    /// or nothing could be kept.
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
            match kept(path, recipe) {
                Ok(made) => {
                    let secs = begin.elapsed().as_secs_f64();
                    return Ok((made, vec![Notice::info(format!("{name} from {}, read in {secs:.2} s", path.display()))]));
                }
                Err(reason) => notices.push(Notice::warning(format!("{reason}; {name} {were} made anew"))),
            }
        }
        let DeviceResult { result: made, device, notices: of_device } = recipe.make(device, task)?;
        notices.extend(of_device);
        let words = format!("{name} {were} {} ({device})", recipe.done(&made));
        notices.push(match path.map(|path| keep(&path, recipe, &made).map(|()| path)) {
            None => Notice::info(format!("{words}; not stored in the cache, because neither XDG_CACHE_HOME nor HOME is set")),
            Some(Ok(path)) => Notice::info(format!("{words} and stored as {}", path.display())),
            Some(Err(reason)) => Notice::warning(format!("{words}; storing it in the cache failed: {reason}")),
        });
        Ok((made, notices))
    }
}

/// What was kept, if it is what the recipe would make.
fn kept<R: Recipe>(path: &Path, recipe: &R) -> Result<R::Made, String> {
    let made = recipe.read(path).map_err(|error| error.to_string())?;
    if recipe.would_make(&made) {
        return Ok(made);
    }
    Err(format!("the content of {} does not match its name", path.display()))
}

fn keep<R: Recipe>(path: &Path, recipe: &R, made: &R::Made) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    recipe.write(path, made).map_err(|error| error.to_string())?;
    if let Some((most, beginning)) = R::MOST_KEPT {
        forget_oldest(folder, most, beginning);
    }
    Ok(())
}

/// Removes all but the newest files whose names begin so, each with the data file beside it; what cannot be removed stays.
fn forget_oldest(folder: &Path, most: usize, beginning: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let is_header = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(beginning) && !name.ends_with(DATA_ENDING)
    };
    let headers = entries.flatten().map(|entry| entry.path()).filter(is_header);
    let mut headers: Vec<_> = headers.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path))).collect();
    headers.sort();
    for (_, header) in headers.iter().take(headers.len().saturating_sub(most)) {
        let mut data = header.clone().into_os_string();
        data.push(DATA_ENDING);
        let (_, _) = (fs::remove_file(data), fs::remove_file(header));
    }
}
