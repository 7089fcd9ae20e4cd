//! Radicals of total variation: a name and the file of a spectrum for each.

use std::path::{Path, PathBuf};

use egui::{Button, Role, TextEdit, Ui, WidgetInfo};

use crate::data::Radical;
use crate::io::{FileKind, read_reference};
use crate::ui::widgets::file_task::FileTask;

/// Tooltip of the rows.
const HELP: &str = "Spectra of several radicals in the sample, one file for each: the run makes an image of each radical. Default: one radical, \
                    with the reference spectrum";

/// Radical of the next run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RadicalSource {
    /// Its name, which is also in file names.
    pub name: String,
    /// The file of its spectrum.
    pub file: PathBuf,
}

impl RadicalSource {
    /// Returns the radical of a file, with the name in it: "tam" of `NAME-htam.npy`.
    pub fn of_file(path: &Path) -> Self {
        let stem = FileKind::stem(path);
        let own = stem.rsplit_once("-h").map(|(_, own)| own).filter(|own| Radical::is_name(own));
        let name = own.unwrap_or(&stem).replace(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'), "-");
        Self { name, file: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()) }
    }

    /// Returns the radical of a name and a file that were found with an acquisition.
    pub fn of_found((name, file): &(String, PathBuf)) -> Self {
        Self { name: name.clone(), ..Self::of_file(file) }
    }

    fn file_name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Reads the spectra.
///
/// # Errors
/// A name that is no name, two equal names, an unreadable file; the error is a sentence.
pub fn read_radicals(sources: &[RadicalSource]) -> Result<Vec<Radical>, String> {
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !Radical::is_name(name)) {
        return Err(format!("'{name}' is not a name of a radical: use letters, digits, - and _"));
    }
    if let Some(name) = Radical::named_twice(&names) {
        return Err(format!("the radical {name} is named twice: give each its own name"));
    }
    let radical = |source: &RadicalSource| {
        let (spectrum, _) = read_reference(&source.file).map_err(|error| error.to_string())?;
        Ok(Radical { name: source.name.clone(), spectrum })
    };
    sources.iter().map(radical).collect()
}

pub fn sources_text(sources: &[RadicalSource]) -> String {
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    if names.is_empty() { "one radical".to_owned() } else { names.join(", ") }
}

/// Draws name and file of each radical, and the button that adds one. Returns the request for its file.
pub fn sources_ui(sources: &mut Vec<RadicalSource>, ui: &mut Ui) -> Option<FileTask> {
    let (mut asked, mut removed) = (None, None);
    ui.vertical(|ui| {
        for (index, source) in sources.iter_mut().enumerate() {
            ui.horizontal(|ui| {
                let field = ui.add(TextEdit::singleline(&mut source.name).desired_width(64.0));
                field.widget_info(|| {
                    let mut info = WidgetInfo::labeled(Role::TextInput, true, format!("Name of radical {}", index + 1));
                    info.current_text_value = Some(source.name.clone());
                    info
                });
                field.on_hover_text("Name of the radical, also in the names of saved images: letters, digits, - and _");
                let remove = ui.add(Button::new("×").small());
                remove.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Remove radical {}", source.name)));
                if remove.on_hover_text("Removes the radical").clicked() {
                    removed = Some(index);
                }
                let file = ui.add(egui::Label::new(source.file_name()).truncate());
                file.on_hover_text(source.file.display().to_string());
            });
        }
        if ui.button("Add radical…").on_hover_text(HELP).clicked() {
            asked = Some(FileTask::Radical);
        }
    });
    ui.end_row();
    removed.into_iter().for_each(|index| _ = sources.remove(index));
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_radical_has_the_name_in_its_file() {
        let name = |path: &str| RadicalSource::of_file(Path::new(path)).name;
        assert_eq!(name("tubes-2d-htam.npy"), "tam");
        assert_eq!(name("folder/Tempo 5 mM.DSC"), "Tempo-5-mM");
        assert_eq!(name("scan-h.npy"), "scan-h");
    }

    #[test]
    fn names_and_files_are_checked_as_on_the_command_line() {
        let source = |name: &str| RadicalSource { name: name.into(), file: "missing-h.npy".into() };
        let refusal = |names: &[&str]| read_radicals(&names.iter().map(|name| source(name)).collect::<Vec<_>>()).unwrap_err();
        assert!(refusal(&["tam", "tam"]).contains("tam is named twice"));
        assert!(refusal(&["tam", "a b"]).contains("'a b' is not a name"));
        assert!(refusal(&[""]).contains("is not a name"));
        assert!(refusal(&["tam"]).contains("missing-h.npy"));
        assert!(read_radicals(&[]).unwrap().is_empty());
    }
}
