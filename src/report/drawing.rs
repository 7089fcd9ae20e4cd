//! Elements of plots and pages: texts, lines and circles, written as SVG here and as PDF by [`super::pdf`].

/// Red, green and blue.
pub(super) type Colour = [u8; 3];

pub(super) const BLACK: Colour = [0; 3];
pub(super) const WHITE: Colour = [255; 3];

/// Default font size of plots.
pub(super) const FONT_SIZE: f64 = 13.0;

/// Alignment of a text relative to its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Part of a drawing; x grows to the right, y downwards.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Element {
    Text(Text),
    Lines { points: Vec<[f64; 2]>, colour: Colour, width: f64, is_dashed: bool },
    Circle { middle: [f64; 2], radius: f64, fill: Option<Colour>, colour: Colour, width: f64 },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    /// Position of its start, middle or end on the base line.
    pub at: [f64; 2],
    pub anchor: Anchor,
    pub size: f64,
    pub colour: Colour,
    /// True if it is read from below to above.
    pub is_upright: bool,
    /// True for a white border, which makes it legible on a picture.
    pub has_border: bool,
    pub text: String,
}

impl Text {
    /// Returns a black text.
    pub fn new(at: [f64; 2], size: f64, anchor: Anchor, text: impl Into<String>) -> Self {
        Self { at, anchor, size, colour: BLACK, is_upright: false, has_border: false, text: text.into() }
    }
}

impl Element {
    /// Returns a thin line between two points.
    pub fn line([x1, y1, x2, y2]: [f64; 4], colour: Colour) -> Self {
        Self::Lines { points: vec![[x1, y1], [x2, y2]], colour, width: 1.0, is_dashed: false }
    }

    pub fn svg(&self) -> String {
        match self {
            Element::Text(Text { at: [x, y], anchor, size, is_upright, text, .. }) => {
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let size = if *size == FONT_SIZE { String::new() } else { format!(r#" font-size="{size}""#) };
                let turned = if *is_upright { format!(r#" transform="rotate(-90 {x} {y})""#) } else { String::new() };
                format!(r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}"{size}{turned}>{}</text>"#, escaped(text))
            }
            Element::Lines { points, colour, width, .. } if *width == 1.0 && points.len() == 2 => {
                let ([x1, y1], [x2, y2], colour) = (points[0], points[1], name(*colour));
                format!(r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{colour}"/>"#)
            }
            Element::Lines { points, colour, width, is_dashed } => {
                let path: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
                let (path, colour) = (path.join(" "), name(*colour));
                let dashes = if *is_dashed { r#" stroke-dasharray="5 4""# } else { "" };
                format!(r#"<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashes}/>"#)
            }
            Element::Circle { middle: [cx, cy], radius, fill, colour, width } => {
                let (fill, colour) = (fill.map_or_else(|| "none".to_owned(), name), name(*colour));
                format!(
                    r#"<circle cx="{cx:.1}" cy="{cy:.1}" r="{radius}" fill="{fill}" stroke="{colour}" stroke-width="{width}"/>"#
                )
            }
        }
    }
}

/// Returns the name of a colour in SVG.
fn name(colour: Colour) -> String {
    match colour {
        BLACK => "black".into(),
        WHITE => "white".into(),
        [r, g, b] => format!("#{r:02x}{g:02x}{b:02x}"),
    }
}

/// Returns a text with escaped markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
