//! Devices of the form. The search takes a while and runs in the background.

use crate::plan::{Device, DeviceChoice, available_devices, host_devices};
use crate::remote::Remote;
use crate::task::BackgroundTask;
use crate::ui::widgets::fields::menu;

/// The devices that are known so far.
pub struct DeviceList {
    known: Vec<Device>,
    search: Option<BackgroundTask<Vec<Device>>>,
}

impl DeviceList {
    /// Starts to look; `wake` is called when all are found.
    pub fn start(wake: impl FnOnce() + Send + 'static) -> Self {
        // Without a thread only the devices that every machine has are known.
        let search = BackgroundTask::start("devices", wake, |_| available_devices());
        Self { known: host_devices(), search: Some(search) }
    }

    /// Returns the devices of a remote host, without a search on this computer.
    pub fn elsewhere() -> Self {
        Self { known: host_devices(), search: None }
    }

    /// Receives the devices of this computer or of the remote host.
    pub fn poll(&mut self, remote: Option<&Remote>) {
        if let Some(devices) = remote.and_then(Remote::devices) {
            self.known = devices;
        }
        if let Some(Ok(devices)) = self.search.as_ref().and_then(BackgroundTask::poll) {
            self.known = devices;
        }
    }

    pub fn known(&self) -> &[Device] {
        &self.known
    }
}

/// Describes a device: its name, its number, and the reason if it is unavailable.
fn text(device: &Device) -> String {
    let number = match device.choice {
        DeviceChoice::Cuda(number) => format!("CUDA {number}: "),
        DeviceChoice::WebGpu(number) => format!("GPU {number}: "),
        _ => String::new(),
    };
    let name = format!("{number}{}", device.name);
    match &device.why_not {
        Some(reason) => format!("{name} ({reason})"),
        None => name,
    }
}

pub fn device_in_words(devices: &[Device], choice: DeviceChoice) -> String {
    devices.iter().find(|device| device.choice == choice).map_or_else(|| "other".into(), text)
}

/// Draws the menu of devices; unavailable ones are grey.
pub fn device_menu(devices: &[Device], chosen: &mut DeviceChoice, ui: &mut egui::Ui) {
    menu(ui, "Device", &device_in_words(devices, *chosen), |ui| {
        for device in devices {
            let choice = egui::Button::selectable(*chosen == device.choice, text(device));
            if ui.add_enabled(device.why_not.is_none(), choice).clicked() {
                *chosen = device.choice;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::{NodeT as _, Queryable as _};

    use super::*;

    #[test]
    fn a_device_that_cannot_be_used_is_grey_and_says_why() {
        let mut devices = host_devices();
        let why_not = Some("there is no projector for it yet".to_owned());
        devices.push(Device { choice: DeviceChoice::Cuda(0), name: "Some GPU".into(), why_not });
        let draw = move |ui: &mut egui::Ui, chosen: &mut DeviceChoice| {
            egui::Grid::new("form").show(ui, |ui| device_menu(&devices, chosen, ui));
        };
        let mut harness = Harness::new_ui_state(draw, DeviceChoice::Auto);
        let mut click = |label: &str| {
            harness.get_by_label(label).click();
            harness.run();
            *harness.state()
        };
        click("Device: auto");
        assert_eq!(click("CUDA 0: Some GPU (there is no projector for it yet)"), DeviceChoice::Auto);
        // A click closes the menu.
        click("Device: auto");
        assert_eq!(click("CPU"), DeviceChoice::Cpu);
        click("Device: CPU");
        let grey = harness.get_by_label_contains("CUDA 0").accesskit_node().is_disabled();
        assert!(grey);
    }
}
