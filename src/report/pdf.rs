//! Pages as a PDF document.

use krilla::Document;
use krilla::color::rgb;
use krilla::geom::{PathBuilder, Point, Rect, Size, Transform};
use krilla::image::Image;
use krilla::metadata::Metadata;
use krilla::page::PageSettings;
use krilla::paint::{Fill, FillRule, Stroke, StrokeDash};
use krilla::surface::Surface;
use krilla::text::{Font, GlyphId, KrillaGlyph};
use skrifa::instance::{LocationRef, Size as FontSize};
use skrifa::{FontRef, MetadataProvider as _};

use super::drawing::{Anchor, Colour, Element, Text, WHITE};
use super::page::{PAGE, Page, Part, PdfError, Picture};

/// Font of reports, the same as in the window. Fonts of the system are not used, so that reports are the same everywhere.
const FONT: &[u8] = epaint_default_fonts::UBUNTU_LIGHT;

/// Control points of a quarter of a circle, a part of its radius: the curve is within 3·10⁻⁴ of it.
const QUARTER: f32 = 0.552_284_8;

/// Returns pages as a PDF document with a title.
///
/// # Errors
/// Drawing a page failed.
pub(super) fn pdf(title: &str, pages: &[Page]) -> Result<Vec<u8>, PdfError> {
    let failed = |text: &str| PdfError::Document(text.into());
    let pen = Pen {
        font: Font::new(FONT.to_vec().into(), 0).ok_or_else(|| failed("its font is invalid"))?,
        letters: FontRef::new(FONT).map_err(|error| failed(&error.to_string()))?,
    };
    let size = Size::from_wh(PAGE[0] as f32, PAGE[1] as f32).ok_or_else(|| failed("it has pages without a size"))?;
    let mut document = Document::new();
    document
        .set_metadata(Metadata::new().title(title.to_owned()).creator(concat!("tomoscope ", env!("CARGO_PKG_VERSION")).into()));
    for page in pages {
        let mut drawn = document.start_page_with(PageSettings::new(size));
        let mut surface = drawn.surface();
        for part in &page.parts {
            pen.draw(&mut surface, part).ok_or_else(|| failed("a part of a page has no size"))?;
        }
        surface.finish();
        drawn.finish();
    }
    document.finish().map_err(|error| PdfError::Document(format!("{error:?}")))
}

/// Draws with one font.
struct Pen {
    font: Font,
    letters: FontRef<'static>,
}

impl Pen {
    /// Draws a part of a page; `None` = it has no size.
    fn draw(&self, surface: &mut Surface<'_>, part: &Part) -> Option<()> {
        match part {
            Part::Element(element) => self.element(surface, element),
            Part::Drawing { corner: [x, y], scale, elements } => {
                let scale = *scale as f32;
                surface.push_transform(&Transform::from_row(scale, 0.0, 0.0, scale, *x as f32, *y as f32));
                let drawn = elements.iter().try_for_each(|element| self.element(surface, element));
                surface.pop();
                drawn
            }
            Part::Picture(picture) => draw_picture(surface, picture),
        }
    }

    fn element(&self, surface: &mut Surface<'_>, element: &Element) -> Option<()> {
        match element {
            Element::Text(text) => self.text(surface, text),
            Element::Lines { points, colour, width, is_dashed } => {
                let mut path = PathBuilder::new();
                for (number, [x, y]) in points.iter().map(|point| point.map(|value| value as f32)).enumerate() {
                    if number == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
                }
                // (A line of one point has no path.)
                let Some(path) = path.finish() else { return Some(()) };
                let dash = is_dashed.then(|| StrokeDash { array: vec![5.0, 4.0], offset: 0.0 });
                surface.set_fill(None);
                surface.set_stroke(Some(Stroke { dash, ..stroke(*colour, *width) }));
                surface.draw_path(&path);
            }
            Element::Circle { middle, radius, fill, colour, width } => {
                let ([x, y], r) = (middle.map(|value| value as f32), *radius as f32);
                let k = QUARTER * r;
                let mut path = PathBuilder::new();
                path.move_to(x + r, y);
                path.cubic_to(x + r, y + k, x + k, y + r, x, y + r);
                path.cubic_to(x - k, y + r, x - r, y + k, x - r, y);
                path.cubic_to(x - r, y - k, x - k, y - r, x, y - r);
                path.cubic_to(x + k, y - r, x + r, y - k, x + r, y);
                path.close();
                surface.set_fill(fill.map(self::fill));
                surface.set_stroke(Some(stroke(*colour, *width)));
                surface.draw_path(&path.finish()?);
            }
        }
        Some(())
    }

    /// Draws a text without kerning.
    fn text(&self, surface: &mut Surface<'_>, text: &Text) {
        let (characters, metrics) =
            (self.letters.charmap(), self.letters.glyph_metrics(FontSize::unscaled(), LocationRef::default()));
        let mut glyphs = Vec::new();
        for (at, character) in text.text.char_indices() {
            let glyph = characters.map(character).unwrap_or_default();
            let advance = metrics.advance_width(glyph).unwrap_or_default() / self.font.units_per_em();
            let range = at..at + character.len_utf8();
            glyphs.push(KrillaGlyph::new(GlyphId::new(glyph.to_u32()), advance, 0.0, 0.0, 0.0, range, None));
        }
        let size = text.size as f32;
        let width: f32 = glyphs.iter().map(|glyph| size * glyph.x_advance).sum();
        let [x, y] = text.at.map(|value| value as f32);
        let start = Point::from_xy(
            match text.anchor {
                Anchor::Start => x,
                Anchor::Middle => x - 0.5 * width,
                Anchor::End => x - width,
            },
            y,
        );
        if text.is_upright {
            surface.push_transform(&Transform::from_rotate_at(-90.0, x, y));
        }
        if text.has_border {
            // (As outlines: searching finds the text once.)
            surface.set_fill(None);
            surface.set_stroke(Some(stroke(WHITE, 2.0)));
            surface.draw_glyphs(start, &glyphs, self.font.clone(), &text.text, size, true);
        }
        surface.set_fill(Some(fill(text.colour)));
        surface.set_stroke(None);
        surface.draw_glyphs(start, &glyphs, self.font.clone(), &text.text, size, false);
        if text.is_upright {
            surface.pop();
        }
    }
}

/// Draws a picture; `None` = it has no size.
fn draw_picture(surface: &mut Surface<'_>, picture: &Picture) -> Option<()> {
    let [[x, y], [width, height]] = [picture.corner, picture.size].map(|pair| pair.map(|value| value as f32));
    if let Some(shown) = picture.shown {
        let [[x, y], [width, height]] = shown.map(|pair| pair.map(|value| value as f32));
        let mut path = PathBuilder::new();
        path.push_rect(Rect::from_xywh(x, y, width, height)?);
        surface.push_clip_path(&path.finish()?, &FillRule::NonZero);
    }
    let pixels = picture.greys.iter().flat_map(|grey| [*grey, *grey, *grey, 255]).collect();
    let [columns, rows] = picture.pixels.map(|number| number as u32);
    surface.push_transform(&Transform::from_translate(x, y));
    surface.draw_image(Image::from_rgba8(pixels, columns, rows), Size::from_wh(width, height)?);
    surface.pop();
    if picture.shown.is_some() {
        surface.pop();
    }
    Some(())
}

fn fill([r, g, b]: Colour) -> Fill {
    Fill { paint: rgb::Color::new(r, g, b).into(), ..Fill::default() }
}

fn stroke([r, g, b]: Colour, width: f64) -> Stroke {
    Stroke { paint: rgb::Color::new(r, g, b).into(), width: width as f32, ..Stroke::default() }
}
