//! Curves and bars as SVG that can be read on a light and on a dark page.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

/// Stands for the colour of text and axes until the style sheet replaces it.
const INK: RGBColor = RGBColor(17, 17, 17);
/// Stands for the colour of the grid.
const FAINT: RGBColor = RGBColor(204, 204, 204);
/// Stands for the colour of the page.
const PAPER: RGBColor = RGBColor(254, 254, 254);

/// Six colours of middle lightness, told apart on white and on black, by colour-blind eyes too (after Okabe and Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 135, 200),
    RGBColor(0, 158, 115),
    RGBColor(230, 140, 0),
    RGBColor(204, 100, 160),
    RGBColor(213, 94, 0),
    RGBColor(120, 120, 220),
    RGBColor(140, 140, 60),
];

/// The colours follow the reader's scheme, and so does the page behind them.
const STYLE: &str = "<style>\
[fill=\"#111111\"],text{fill:#1f2328}[stroke=\"#111111\"]{stroke:#1f2328}\
[fill=\"#FEFEFE\"]{fill:#ffffff}[stroke=\"#CCCCCC\"]{stroke:#d0d7de}\
@media (prefers-color-scheme:dark){\
[fill=\"#111111\"],text{fill:#e6edf3}[stroke=\"#111111\"]{stroke:#e6edf3}\
[fill=\"#FEFEFE\"]{fill:#0d1117}[stroke=\"#CCCCCC\"]{stroke:#30363d}}\
</style>";

/// A named line of points.
#[derive(Debug, Clone)]
pub struct Line {
    /// What it shows.
    pub name: String,
    /// Its points, by x.
    pub points: Vec<(f64, f64)>,
}

/// One pair of axes.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Above the axes.
    pub title: String,
    /// Below the x axis.
    pub x: String,
    /// Beside the y axis.
    pub y: String,
    /// What is drawn.
    pub lines: Vec<Line>,
}

/// A named bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// What it shows.
    pub name: String,
    /// Its length.
    pub value: f64,
}

/// Charts side by side.
///
/// # Errors
/// When a chart has no points or cannot be drawn.
pub fn curves(charts: &[Chart]) -> Result<String, String> {
    draw((480 * charts.len() as u32, 320), |area| {
        for (chart, part) in charts.iter().zip(area.split_evenly((1, charts.len()))) {
            curve(chart, &part)?;
        }
        Ok(())
    })
}

/// Groups of horizontal bars, a group to a column: title, unit, bars.
///
/// # Errors
/// When a group cannot be drawn.
pub fn bars(groups: &[(&str, &str, Vec<Bar>)]) -> Result<String, String> {
    draw((480 * groups.len() as u32, 320), |area| {
        for ((title, unit, bars), part) in groups.iter().zip(area.split_evenly((1, groups.len()))) {
            bar_chart(title, unit, bars, &part)?;
        }
        Ok(())
    })
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw(size: (u32, u32), paint: impl FnOnce(&Area<'_>) -> Result<(), String>) -> Result<String, String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&PAPER).map_err(words)?;
        paint(&area)?;
        area.present().map_err(words)?;
    }
    let head = text.find("<svg").and_then(|start| text[start..].find('>').map(|end| start + end + 1));
    let head = head.ok_or("the drawing has no head")?;
    text.insert_str(head, STYLE);
    Ok(text)
}

fn curve(chart: &Chart, area: &Area<'_>) -> Result<(), String> {
    let points = || chart.lines.iter().flat_map(|line| line.points.iter().copied());
    let (xs, ys) = (range(points().map(|p| p.0))?, range(points().map(|p| p.1))?);
    let mut axes = ChartBuilder::on(area)
        .margin(12)
        .caption(&chart.title, ("sans-serif", 16).into_font().color(&INK))
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(xs, 0.0..ys.end * 1.05)
        .map_err(words)?;
    axes.configure_mesh()
        .x_desc(&chart.x)
        .y_desc(&chart.y)
        .axis_style(INK)
        .bold_line_style(FAINT)
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 12).into_font().color(&INK))
        .draw()
        .map_err(words)?;
    for (line, colour) in chart.lines.iter().zip(COLOURS.iter().cycle()) {
        let stroke = colour.stroke_width(2);
        axes.draw_series(LineSeries::new(line.points.iter().copied(), stroke))
            .map_err(words)?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], stroke));
        axes.draw_series(line.points.iter().map(|point| Circle::new(*point, 2, colour.filled())))
            .map_err(words)?;
    }
    axes.configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font(("sans-serif", 12).into_font().color(&INK))
        .draw()
        .map_err(words)?;
    Ok(())
}

fn bar_chart(title: &str, unit: &str, bars: &[Bar], area: &Area<'_>) -> Result<(), String> {
    let longest = range(bars.iter().map(|bar| bar.value))?.end;
    let rows = bars.len() as f64;
    let mut axes = ChartBuilder::on(area)
        .margin(12)
        .caption(title, ("sans-serif", 16).into_font().color(&INK))
        .x_label_area_size(36)
        .build_cartesian_2d(0.0..longest * 1.15, 0.0..rows)
        .map_err(words)?;
    axes.configure_mesh()
        .disable_y_mesh()
        .x_desc(unit)
        .y_labels(0)
        .axis_style(INK)
        .bold_line_style(FAINT)
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 12).into_font().color(&INK))
        .draw()
        .map_err(words)?;
    for (place, (bar, colour)) in bars.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let base = rows - place as f64 - 1.0;
        let corners = [(0.0, base + 0.08), (bar.value, base + 0.45)];
        axes.draw_series([Rectangle::new(corners, colour.filled())]).map_err(words)?;
        let label = format!("{}: {:.0} {unit}", bar.name, bar.value);
        let font = ("sans-serif", 12).into_font().color(&INK);
        axes.draw_series([Text::new(label, (longest * 0.005, base + 0.88), font)]).map_err(words)?;
    }
    Ok(())
}

fn range(values: impl Iterator<Item = f64>) -> Result<Range<f64>, String> {
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low.is_finite() && high.is_finite() {
        Ok(low..high.max(low + f64::EPSILON))
    } else {
        Err("a chart has no points, or one that is not a number".into())
    }
}

fn words(error: impl std::fmt::Display) -> String {
    format!("drawing: {error}")
}
