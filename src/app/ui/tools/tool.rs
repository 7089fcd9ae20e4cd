//! Parts of the window.

use std::any::Any;
use std::path::Path;

use egui::Ui;

use crate::ui::widgets::file_task::ToolFile;
use crate::ui::workspace::commands::Command;
use crate::ui::workspace::state::{Request, Workspace};

/// Part of the window with its state. It draws the workspace, and requests changes of it, which follow the drawing of all parts.
pub trait Tool: Any {
    /// Returns title and tooltip of its pane.
    fn title(&self, work: &Workspace) -> [&'static str; 2];

    /// Returns true if the open study has it.
    fn is_for(&self, _work: &Workspace) -> bool {
        true
    }

    /// Updates its values before drawing. `is_drawn`: true if its pane is in front.
    fn update(&mut self, _work: &mut Workspace, _is_drawn: bool) {}

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>);

    /// Returns its commands, for the search and for keys.
    fn commands(&self) -> Vec<Command> {
        Vec::new()
    }

    /// Reads or starts writing one of its files.
    ///
    /// # Errors
    /// There is nothing to write, or reading failed.
    fn take_file(&mut self, _work: &mut Workspace, _file: &'static ToolFile, _path: &Path) -> Result<(), String> {
        Ok(())
    }

    /// Returns its part of a session; `None` if it has the default.
    fn saved(&self) -> Option<toml::Value> {
        None
    }

    /// Restores its part of a session; `None`: the default.
    ///
    /// # Errors
    /// The part is invalid.
    fn restore(&mut self, _saved: Option<toml::Value>) -> Result<(), String> {
        Ok(())
    }
}

/// Draws a panel with its actions, and requests them.
pub fn acting<A: 'static, R>(
    requests: &mut Vec<Request>,
    apply: fn(&mut Workspace, A),
    draw: impl FnOnce(&mut Vec<A>) -> R,
) -> R {
    let mut actions = Vec::new();
    let drawn = draw(&mut actions);
    requests.extend(actions.into_iter().map(|action| -> Request { Box::new(move |work| apply(work, action)) }));
    drawn
}
