//! Search for commands by words of their names.

use egui::{Context, Key, Modifiers, RichText};

use super::list::Group;
use crate::ui::widgets::modal::modal_ui;
use crate::ui::workspace::command_windows::CommandSearch;
use crate::ui::workspace::commands::Command;
use crate::ui::workspace::state::{Request, Workspace, request};

/// Largest height of the list of matches, as a part of the window.
const LIST_PART: f32 = 0.5;

/// Returns the commands whose group and name contain all typed words.
fn matches<'a>(groups: &'a [Group], typed: &str) -> Vec<(&'static str, &'a Command)> {
    let words: Vec<String> = typed.split_whitespace().map(str::to_lowercase).collect();
    let all = groups.iter().flat_map(|group| group.commands.iter().map(move |command| (group.title, command)));
    let fits = |(title, command): &(&str, &Command)| {
        let text = format!("{title} {}", command.text).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    all.filter(fits).collect()
}

/// Draws the search; requests the chosen command.
pub fn search_ui(search: &CommandSearch, groups: &[Group], ctx: &Context, requests: &mut Vec<Request>) {
    let mut edited = search.clone();
    let found = matches(groups, &search.typed);
    let last = found.len().saturating_sub(1);
    let (up, down, enter) = ctx.input_mut(|input| {
        let mut pressed = |key| input.count_and_consume_key(Modifiers::NONE, key);
        (pressed(Key::ArrowUp), pressed(Key::ArrowDown), pressed(Key::Enter) > 0)
    });
    edited.chosen = (edited.chosen + down).min(last).saturating_sub(up);
    let mut run = enter.then(|| found.get(edited.chosen)).flatten();
    let is_escaped = modal_ui(ctx, "commands", "Commands", |ui| {
        let field = egui::TextEdit::singleline(&mut edited.typed).desired_width(f32::INFINITY).hint_text("words of a command");
        let response = ui.add(field);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Command"));
        ui.add_space(4.0);
        egui::ScrollArea::vertical().max_height(LIST_PART * ctx.content_rect().height()).auto_shrink([false, true]).show(
            ui,
            |ui| {
                for (index, (title, command)) in found.iter().enumerate() {
                    let is_chosen = index == edited.chosen;
                    let keys: Vec<String> = command.keys.iter().map(|keys| ctx.format_shortcut(keys)).collect();
                    let button = egui::Button::selectable(is_chosen, &*command.text)
                        .min_size(egui::vec2(ui.available_width(), 0.0))
                        .right_text(RichText::new(format!("{title}   {}", keys.join(", "))).small());
                    let button = ui.add(button);
                    button.widget_info(|| egui::WidgetInfo::selected(egui::Role::Button, true, is_chosen, &*command.text));
                    if is_chosen && up + down > 0 {
                        button.scroll_to_me(None);
                    }
                    if button.clicked() {
                        run = Some(&found[index]);
                    }
                }
                if found.is_empty() {
                    ui.label("No command contains these words.");
                }
            },
        );
        response
    });
    if let Some((_, command)) = run {
        requests.push(request(Workspace::toggle_search));
        requests.push(command.request());
    } else if is_escaped {
        requests.push(request(Workspace::toggle_search));
    } else if edited != *search {
        edited.chosen = if edited.typed == search.typed { edited.chosen } else { 0 };
        requests.push(request(|work| work.commands.search = Some(edited)));
    }
}
