//! Line plots as SVG: published points are hollow and dashed, measured ones filled.

use super::drawing::{Anchor, BLACK, Colour, Element, FONT_SIZE, Text, WHITE};

#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    pub axes: Axes,
    pub title: String,
    pub x_title: String,
    pub y_title: String,
    /// Marks of the x axis and their labels; for linear axes optional.
    pub x_ticks: Vec<(f64, String)>,
    pub lines: Vec<Series>,
}

/// Scale of both axes of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// Logarithmic: a power law is a straight line. Values are positive.
    Logarithmic,
    Linear,
}

impl Axes {
    /// Returns the position of a value before the scaling to pixels.
    fn position(self, value: f64) -> f64 {
        match self {
            Axes::Logarithmic => value.log10(),
            Axes::Linear => value,
        }
    }
}

/// Points joined by straight lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Index in the palette; related series have the same.
    pub colour: usize,
    /// True for published numbers or those of an earlier run.
    pub is_published: bool,
    /// Points (x, y) by increasing x.
    pub points: Vec<[f64; 2]>,
}

/// Palette of Okabe and Ito for colour-blind readers.
const COLOURS: [Colour; 8] = [
    BLACK,
    [0xe6, 0x9f, 0x00],
    [0x00, 0x72, 0xb2],
    [0x56, 0xb4, 0xe9],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0x99, 0x99, 0x99],
];
const GRID: Colour = [0xdd; 3];
/// Width and height of the plot.
pub(super) const PLOT_SIZE: [f64; 2] = [860.0, 460.0];
/// Left, top, right and bottom edge of the axes.
const BOX: [f64; 4] = [70.0, 40.0, 540.0, 400.0];

/// Maximum number of points with marks.
const MAX_MARKS: usize = 70;
/// Approximate number of marks of a linear axis.
const NUM_TICKS: f64 = 6.0;

/// Linear map of positions to pixels.
struct Scale {
    axes: Axes,
    positions: [f64; 2],
    pixels: [f64; 2],
}

impl Scale {
    fn pixel(&self, value: f64) -> f64 {
        let part = (self.axes.position(value) - self.positions[0]) / (self.positions[1] - self.positions[0]);
        self.pixels[0] + part * (self.pixels[1] - self.pixels[0])
    }
}

/// Returns the smallest and the largest position along an axis; `None` without points.
fn range(plot: &Plot, axis: usize) -> Option<[f64; 2]> {
    let positions = plot.lines.iter().flat_map(|line| &line.points).map(|point| plot.axes.position(point[axis]));
    positions.fold(None, |range: Option<[f64; 2]>, position| {
        let [low, high] = range.unwrap_or([position; 2]);
        Some([low.min(position), high.max(position)])
    })
}

/// Returns multiples of 1, 2 or 5 times a power of ten that enclose an interval, with their labels.
fn round_numbers([low, high]: [f64; 2]) -> Vec<(f64, String)> {
    let width = if high > low { high - low } else { low.abs().max(1.0) };
    let power = (width / NUM_TICKS).log10().floor();
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * 10f64.powf(power)).into_iter().find(|step| width / step <= NUM_TICKS);
    let step = step.unwrap_or(width);
    let digits = (-power).max(0.0) as usize;
    let (first, last) = ((low / step + 1e-9).floor() as i64, (high / step - 1e-9).ceil() as i64);
    let last = last.max(first + 1);
    (first..=last).map(|k| k as f64 * step).map(|value| (value, format!("{value:.digits$}"))).collect()
}

impl Plot {
    /// Returns a plot with linear axes; the titles are those of the plot, the x axis and the y axis.
    pub fn linear(titles: [&str; 3], x_ticks: Vec<(f64, String)>, lines: Vec<Series>) -> Self {
        let [title, x_title, y_title] = titles.map(str::to_owned);
        Self { axes: Axes::Linear, title, x_title, y_title, x_ticks, lines }
    }

    /// Returns its points as a table in CSV (curve, x, y); `None` without points.
    pub fn csv(&self) -> Option<String> {
        let mut table = csv::Writer::from_writer(Vec::new());
        table.write_record(["curve", &self.x_title, &self.y_title]).ok()?;
        for line in &self.lines {
            for point in &line.points {
                let [x, y] = point.map(|value| value.to_string());
                table.write_record([&line.name, &x, &y]).ok()?;
            }
        }
        self.lines.iter().any(|line| !line.points.is_empty()).then_some(())?;
        String::from_utf8(table.into_inner().ok()?).ok()
    }

    /// Returns the plot as an SVG document; `None` without points.
    pub fn svg(&self) -> Option<String> {
        let elements: Vec<String> = self.elements()?.iter().map(Element::svg).collect();
        let [width, height] = PLOT_SIZE;
        Some(format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="{FONT_SIZE}">
<rect width="{width}" height="{height}" fill="white"/>
{}
</svg>
"#,
            elements.join("\n")
        ))
    }

    /// Returns the elements of the plot, in a box of [`PLOT_SIZE`]; `None` without points.
    pub(super) fn elements(&self) -> Option<Vec<Element>> {
        let ([x_low, x_high], [y_low, y_high]) = (range(self, 0)?, range(self, 1)?);
        let [left, top, right, bottom] = BOX;
        let axes = self.axes;
        let is_given = axes == Axes::Logarithmic || !self.x_ticks.is_empty();
        let x_ticks = if is_given { self.x_ticks.clone() } else { round_numbers([x_low, x_high]) };
        let y_ticks: Vec<(f64, String)> = match axes {
            Axes::Logarithmic => {
                let exponents = y_low.floor() as i32..=y_high.ceil().max(y_low.floor() + 1.0) as i32;
                exponents.map(|exponent| (10f64.powi(exponent), decade(exponent))).collect()
            }
            Axes::Linear => round_numbers([y_low, y_high]),
        };
        let margin = (0.04 * (x_high - x_low)).max(if axes == Axes::Logarithmic { 0.02 } else { 0.0 });
        let ends =
            |ticks: &[(f64, String)]| [ticks.first(), ticks.last()].map(|tick| tick.map_or(0.0, |(at, _)| axes.position(*at)));
        let x_places = if is_given { [x_low - margin, x_high + margin] } else { ends(&x_ticks) };
        let x = Scale { axes, positions: x_places, pixels: [left, right] };
        let y = Scale { axes, positions: ends(&y_ticks), pixels: [bottom, top] };
        let text = |at: [f64; 2], anchor: Anchor, text: &str| Text::new(at, FONT_SIZE, anchor, text);
        let mut all = vec![Element::Text(Text { size: 15.0, ..text([left, 24.0], Anchor::Start, &self.title) })];
        for (value, label) in &x_ticks {
            let at = x.pixel(*value);
            all.push(Element::line([at, bottom, at, bottom + 5.0], BLACK));
            all.push(Element::Text(text([at, bottom + 20.0], Anchor::Middle, label)));
        }
        for (value, label) in &y_ticks {
            let at = y.pixel(*value);
            all.push(Element::line([left, at, right, at], GRID));
            all.push(Element::Text(text([left - 8.0, at + 4.0], Anchor::End, label)));
        }
        all.push(Element::line([left, bottom, right, bottom], BLACK));
        all.push(Element::line([left, top, left, bottom], BLACK));
        let middle = 0.5 * (top + bottom);
        all.push(Element::Text(text([0.5 * (left + right), bottom + 44.0], Anchor::Middle, &self.x_title)));
        all.push(Element::Text(Text { is_upright: true, ..text([16.0, middle], Anchor::Middle, &self.y_title) }));
        for (row, one) in self.lines.iter().enumerate() {
            let points = one.points.iter().map(|point| [x.pixel(point[0]), y.pixel(point[1])]).collect();
            one.draw(points, &mut all);
            let at = top + 12.0 + 22.0 * row as f64;
            one.draw(vec![[right + 20.0, at - 4.0], [right + 50.0, at - 4.0]], &mut all);
            all.push(Element::Text(text([right + 58.0, at], Anchor::Start, &one.name)));
        }
        Some(all)
    }
}

impl Series {
    /// Returns a series of measured numbers.
    pub fn measured(name: &str, colour: usize, points: Vec<[f64; 2]>) -> Self {
        Self { name: name.to_owned(), colour, is_published: false, points }
    }

    /// Draws the line through points, with marks at few of them.
    fn draw(&self, points: Vec<[f64; 2]>, all: &mut Vec<Element>) {
        let (colour, width) = (COLOURS[self.colour % COLOURS.len()], 1.5);
        let fill = Some(if self.is_published { WHITE } else { colour });
        let marks = if points.len() <= MAX_MARKS { points.clone() } else { Vec::new() };
        all.push(Element::Lines { points, colour, width, is_dashed: self.is_published });
        all.extend(marks.into_iter().map(|middle| Element::Circle { middle, radius: 3.5, fill, colour, width }));
    }
}

/// Returns a power of ten in few characters.
fn decade(exponent: i32) -> String {
    match exponent {
        0..=4 => format!("{}", 10f64.powi(exponent)),
        -3..0 => format!("{:.*}", exponent.unsigned_abs() as usize, 10f64.powi(exponent)),
        _ => format!("1e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_where_the_axes_say() {
        let lines = vec![
            Series { name: "a < b".into(), colour: 0, is_published: true, points: vec![[10.0, 0.01], [1000.0, 100.0]] },
            Series { name: "c".into(), colour: 1, is_published: false, points: vec![[100.0, 1.0]] },
        ];
        let text = || String::new();
        let axes = Axes::Logarithmic;
        let plot = Plot { axes, title: text(), x_title: text(), y_title: text(), x_ticks: vec![(100.0, "tick".into())], lines };
        let svg = plot.svg().unwrap();
        // In the middle of both axes, in logarithms.
        assert!(svg.contains(r##"<circle cx="305.0" cy="220.0" r="3.5" fill="#e69f00""##), "{svg}");
        // The ends of the published line: at the highest and the lowest decade, hollow.
        assert!(svg.contains(r#"cy="400.0" r="3.5" fill="white""#) && svg.contains(r#"cy="40.0" r="3.5" fill="white""#), "{svg}");
        assert!(
            svg.contains(r#"<text x="305.0" y="420.0" text-anchor="middle">tick</text>"#) && svg.contains("a &lt; b"),
            "{svg}"
        );
        assert!([">0.01<", ">0.1<", ">1<", ">10<", ">100<"].iter().all(|label| svg.contains(label)), "{svg}");
        assert_eq!(plot.csv().unwrap(), "curve,,\na < b,10,0.01\na < b,1000,100\nc,100,1\n");
        let empty = Plot { lines: Vec::new(), ..plot };
        assert_eq!((empty.svg(), empty.csv()), (None, None));
    }
    #[test]
    fn linear_axes_are_marked_with_round_numbers() {
        let labels = |range| round_numbers(range).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(labels([0.02, 0.31]), ["0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30", "0.35"]);
        assert_eq!(labels([10.0, 300.0]), ["0", "50", "100", "150", "200", "250", "300"]);
        assert_eq!(labels([-3.0, -3.0]), ["-3.0", "-2.5"]);
        let points = vec![[0.0, -1.0], [10.0, 1.0]];
        let lines = vec![Series { name: "a".into(), colour: 0, is_published: false, points }];
        let text = || String::new();
        let plot = Plot { axes: Axes::Linear, title: text(), x_title: text(), y_title: text(), x_ticks: Vec::new(), lines };
        let svg = plot.svg().unwrap();
        assert!(svg.contains(r#"points="70.0,400.0 540.0,40.0""#) && svg.contains(">-0.5<") && svg.contains(">8<"), "{svg}");
    }
}
