//! Controls of the window that a label elsewhere leads to.

use egui::{Align, Context, Id, Response};

/// A control that can be led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The field of the post-filter.
    PostFilter,
    /// The choice of the image that is measured.
    MeasuredImage,
    /// The stop rules.
    StopRules,
    /// The calibration.
    Calibration,
    /// The choice of the accumulation.
    Accumulation,
}

impl Place {
    fn id() -> Id {
        Id::unique("place that is led to")
    }

    /// Leads to the control: it comes into view and has the focus from the next frame on.
    pub fn lead(self, ctx: &Context) {
        ctx.data_mut(|data| data.insert_temp(Self::id(), self));
        ctx.request_repaint();
    }

    /// Returns whether the control is led to, so that whatever hides it can open.
    pub fn is_sought(self, ctx: &Context) -> bool {
        ctx.data(|data| data.get_temp::<Self>(Self::id())) == Some(self)
    }

    /// Brings the control into view and gives it the focus, where it is led to.
    pub fn is_at(self, response: &Response) {
        if self.is_sought(&response.ctx) {
            response.ctx.data_mut(|data| data.remove::<Self>(Self::id()));
            response.scroll_to_me(Some(Align::Center));
            response.request_focus();
        }
    }
}
