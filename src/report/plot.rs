//! Line plots with logarithmic axes, as SVG: published points are hollow and dashed, measured ones filled.

use std::fmt::Write;

/// A plot; what is proportional to a power lies on a straight line.
pub struct Plot {
    /// The title above it.
    pub title: String,
    /// What lies along x.
    pub x_title: String,
    /// What lies along y.
    pub y_title: String,
    /// Where the x axis is marked, and with what.
    pub x_ticks: Vec<(f64, String)>,
    /// What is drawn.
    pub lines: Vec<Series>,
}

/// Points joined by straight lines.
pub struct Series {
    /// Name beside the axes.
    pub name: String,
    /// Place in the palette: what belongs together has the same.
    pub colour: usize,
    /// Whether it stands for published numbers.
    pub is_published: bool,
    /// Positive x and y, by rising x.
    pub points: Vec<[f64; 2]>,
}

/// Okabe and Ito's colours, which colour-blind people tell apart.
const COLOURS: [&str; 8] = ["#000000", "#e69f00", "#0072b2", "#56b4e9", "#d55e00", "#009e73", "#cc79a7", "#999999"];
/// Width and height of the plot.
const SIZE: [f64; 2] = [860.0, 460.0];
/// Left, top, right and bottom edge of the axes.
const BOX: [f64; 4] = [70.0, 40.0, 540.0, 400.0];

/// Decimal logarithm to pixels: linear from one interval to the other.
struct Scale {
    logs: [f64; 2],
    pixels: [f64; 2],
}

impl Scale {
    fn pixel(&self, value: f64) -> f64 {
        let part = (value.log10() - self.logs[0]) / (self.logs[1] - self.logs[0]);
        self.pixels[0] + part * (self.pixels[1] - self.pixels[0])
    }
}

/// Smallest and largest decimal logarithm; `None` where there is no point.
fn range(plot: &Plot, axis: usize) -> Option<[f64; 2]> {
    let logs = plot.lines.iter().flat_map(|line| &line.points).map(|point| point[axis].log10());
    logs.fold(None, |range: Option<[f64; 2]>, log| {
        let [low, high] = range.unwrap_or([log; 2]);
        Some([low.min(log), high.max(log)])
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Plot {
    /// The plot as an SVG document; `None` where it has no point.
    pub fn svg(&self) -> Option<String> {
        let ([x_low, x_high], [y_low, y_high]) = (range(self, 0)?, range(self, 1)?);
        let [left, top, right, bottom] = BOX;
        let margin = (0.04 * (x_high - x_low)).max(0.02);
        let x = Scale { logs: [x_low - margin, x_high + margin], pixels: [left, right] };
        let y_logs = [y_low.floor(), y_high.ceil().max(y_low.floor() + 1.0)];
        let y = Scale { logs: y_logs, pixels: [bottom, top] };
        let [width, height] = SIZE;
        let mut svg = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">
<rect width="{width}" height="{height}" fill="white"/>
"#
        );
        let mut put = |element: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(svg, "{element}");
        };
        let text = |[x, y]: [f64; 2], anchor: &str, more: &str, text: &str| {
            format!(r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}"{more}>{}</text>"#, escaped(text))
        };
        let line = |[x1, y1, x2, y2]: [f64; 4], stroke: &str| {
            format!(r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{stroke}"/>"#)
        };
        put(text([left, 24.0], "start", r#" font-size="15""#, &self.title));
        for (value, label) in &self.x_ticks {
            let at = x.pixel(*value);
            put(line([at, bottom, at, bottom + 5.0], "black"));
            put(text([at, bottom + 20.0], "middle", "", label));
        }
        for exponent in y_logs[0] as i32..=y_logs[1] as i32 {
            let at = y.pixel(10f64.powi(exponent));
            put(line([left, at, right, at], "#dddddd"));
            put(text([left - 8.0, at + 4.0], "end", "", &decade(exponent)));
        }
        put(line([left, bottom, right, bottom], "black") + &line([left, top, left, bottom], "black"));
        let middle = 0.5 * (top + bottom);
        put(text([0.5 * (left + right), bottom + 44.0], "middle", "", &self.x_title));
        put(text([16.0, middle], "middle", &format!(r#" transform="rotate(-90 16 {middle})""#), &self.y_title));
        for (row, one) in self.lines.iter().enumerate() {
            let points: Vec<[f64; 2]> = one.points.iter().map(|point| [x.pixel(point[0]), y.pixel(point[1])]).collect();
            put(one.drawn(&points));
            let at = top + 12.0 + 22.0 * row as f64;
            put(one.drawn(&[[right + 20.0, at - 4.0], [right + 50.0, at - 4.0]]));
            put(text([right + 58.0, at], "start", "", &one.name));
        }
        Some(svg + "</svg>\n")
    }
}

impl Series {
    /// The line through some pixels, with a mark at each.
    fn drawn(&self, pixels: &[[f64; 2]]) -> String {
        let colour = COLOURS[self.colour % COLOURS.len()];
        let (fill, dashes) = if self.is_published { ("white", r#" stroke-dasharray="5 4""#) } else { (colour, "") };
        let path: Vec<String> = pixels.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        let path = path.join(" ");
        let mut drawn = format!(r#"<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>"#);
        for [x, y] in pixels {
            drawn += &format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.5" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>"#);
        }
        drawn
    }
}

/// A power of ten in few characters.
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
        let plot = Plot { title: text(), x_title: text(), y_title: text(), x_ticks: vec![(100.0, "tick".into())], lines };
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
        assert_eq!(Plot { lines: Vec::new(), ..plot }.svg(), None);
    }
}
