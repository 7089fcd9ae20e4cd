//! Commands by name and by keys.

use std::borrow::Cow;
use std::rc::Rc;

use egui::{Key, KeyboardShortcut, Modifiers};

use super::command_windows::CommandSearch;
use super::state::{Request, Workspace, request};

/// Effect of a command.
type Run = Rc<dyn Fn(&mut Workspace)>;

#[derive(Clone)]
pub struct Command {
    /// Keys; none for a command of the search alone.
    pub keys: Vec<KeyboardShortcut>,
    pub text: Cow<'static, str>,
    pub run: Run,
    /// True while it has an effect.
    pub is_enabled: Rc<dyn Fn(&Workspace) -> bool>,
}

impl Command {
    pub fn new(keys: &[(Modifiers, Key)], text: impl Into<Cow<'static, str>>, run: impl Fn(&mut Workspace) + 'static) -> Self {
        let keys = keys.iter().map(|(modifiers, key)| KeyboardShortcut::new(*modifiers, *key)).collect();
        Self { keys, text: text.into(), run: Rc::new(run), is_enabled: Rc::new(|_| true) }
    }

    /// Returns a command with a key alone.
    pub fn key(key: Key, text: &'static str, run: impl Fn(&mut Workspace) + 'static) -> Self {
        Self::new(&[(Modifiers::NONE, key)], text, run)
    }

    /// Returns a command with Ctrl and a key.
    pub fn ctrl(key: Key, text: &'static str, run: impl Fn(&mut Workspace) + 'static) -> Self {
        Self::new(&[(Modifiers::COMMAND, key)], text, run)
    }

    /// Returns the command with a condition of its effect.
    pub fn when(self, is_enabled: impl Fn(&Workspace) -> bool + 'static) -> Self {
        Self { is_enabled: Rc::new(is_enabled), ..self }
    }

    pub fn request(&self) -> Request {
        let run = Rc::clone(&self.run);
        request(move |work| run(work))
    }

    pub fn is_enabled(&self, work: &Workspace) -> bool {
        (self.is_enabled)(work)
    }

    /// Returns a command of the search alone.
    pub fn named(text: impl Into<Cow<'static, str>>, run: impl Fn(&mut Workspace) + 'static) -> Self {
        Self::new(&[], text, run)
    }
}

impl Workspace {
    /// Opens or closes the list of keys.
    pub fn toggle_command_list(&mut self) {
        self.commands.is_list_open = !self.commands.is_list_open;
    }

    /// Opens or closes the search for commands.
    pub fn toggle_search(&mut self) {
        self.commands.search = if self.commands.search.is_some() { None } else { Some(CommandSearch::default()) };
    }
}
