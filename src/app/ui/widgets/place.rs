//! Controls that a click on a label brings into view.

use egui::{Align, Context, Id, Response};

/// Control that can be brought into view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    PostFilter,
    MeasuredImage,
    StopRules,
    Calibration,
    Accumulation,
}

impl Place {
    fn id() -> Id {
        Id::unique("place that is led to")
    }

    /// Brings the control into view and gives it the focus in the next frame.
    pub fn lead(self, ctx: &Context) {
        ctx.data_mut(|data| data.insert_temp(Self::id(), self));
        ctx.request_repaint();
    }

    /// Returns true if the control is to be brought into view, so that collapsed parts can open.
    pub fn is_sought(self, ctx: &Context) -> bool {
        ctx.data(|data| data.get_temp::<Self>(Self::id())) == Some(self)
    }

    /// Scrolls to the widget of the control and gives it the focus, if it is to be brought into view.
    pub fn is_at(self, response: &Response) {
        if self.is_sought(&response.ctx) {
            response.ctx.data_mut(|data| data.remove::<Self>(Self::id()));
            response.scroll_to_me(Some(Align::Center));
            response.request_focus();
        }
    }
}
