//! The form of the next run: its algorithm, parameters, device and stop rule.

pub mod devices;
pub mod forecast;
pub mod forms;
pub mod settings;
pub mod settings_panel;
pub mod sources;
pub mod stop_form;
pub mod tuning;
pub mod variations;
