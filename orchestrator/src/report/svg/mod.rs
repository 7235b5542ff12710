//! Figures as static pictures, drawn by plotters: for READMEs, merge requests and whatever shows no script.

mod coordinate;
mod look;

use coordinate::Coordinate;
use latlab_core::figure::{Along, Figure, Layer, Panel, Rule, Scale, Shape, Symbol};
use look::{GRID, LIMIT, SOFT, TEXT, WHITE, heat, hue};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBColor, ShapeStyle, TextStyle};
use plotters_svg::SVGBackend;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Coordinate, Coordinate>>;

/// The picture could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the picture cannot be drawn: {reason}")]
pub struct SvgError {
    reason: String,
}

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for SvgError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self { reason: error.to_string() }
    }
}

const FONT: &str = "sans-serif";
/// Height of a line of small text, in pixels.
const LINE: u32 = 18;
const BOTTOM: u32 = 46;
const RIGHT: u32 = 22;
/// Room for the words along the vertical axis.
const MARGIN: u32 = 10;

/// Draws a figure `width` pixels wide (at least 320).
pub fn draw(figure: &Figure, width: u32) -> Result<String, SvgError> {
    let width = width.max(320);
    let left = if figure.panels.iter().any(|panel| matches!(panel.y.scale, Scale::Names(_))) { 130 } else { 74 };
    let legend = legend(figure, width);
    let labels = placed(figure, f64::from(width - left - RIGHT));
    let rows = labels.iter().map(|(.., row)| row + 1).max().unwrap_or(0);
    let top = 34 + LINE * (legend.last().map_or(0, |(.., row)| row + 1) + rows) + 8;
    let heights: Vec<u32> = figure.panels.iter().map(|panel| height(panel, figure.panels.len())).collect();
    let total = top + heights.iter().sum::<u32>() + BOTTOM;
    let mut out = String::new();
    {
        let root = SVGBackend::with_string(&mut out, (width, total)).into_drawing_area();
        root.fill(&WHITE)?;
        root.draw(&Text::new(figure.title.clone(), (12, 8), text(17, TEXT)))?;
        for (layer, x, row) in &legend {
            swatch(&root, layer, i32_of(*x), i32_of(34 + LINE * row))?;
        }
        let (_, mut rest) = root.split_vertically(top);
        for (number, (panel, height)) in figure.panels.iter().zip(&heights).enumerate() {
            let last = number + 1 == heights.len();
            let (area, below) = rest.split_vertically(height + if last { BOTTOM } else { 0 });
            rest = below;
            draw_panel(&area, figure, panel, left, last)?;
        }
        for (rule, middle, row) in labels {
            let y = i32_of(top - 6) - i32_of(LINE) * i32_of(row) - 6;
            let style = text(12, if rule.limit { LIMIT } else { TEXT }).pos(Pos::new(HPos::Center, VPos::Center));
            root.draw(&Text::new(rule.label.clone(), (i32_of(left) + middle, y), style))?;
        }
        root.present()?;
    }
    Ok(described(&out, figure))
}

/// Title and description for those who do not see it.
fn described(svg: &str, figure: &Figure) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let words = format!(
        " role=\"img\" aria-label=\"{0}\">\n<title>{0}</title>\n<desc>{1}</desc>",
        escape(&figure.title).replace('"', "&quot;"),
        escape(&figure.summary)
    );
    svg.replacen('>', &words, 1)
}

fn text<'a>(size: u32, colour: RGBColor) -> TextStyle<'a> {
    let mut style = TextStyle::from((FONT, size).into_font());
    style.color = colour.to_backend_color();
    style
}

fn i32_of(n: u32) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// Nearest whole number of pixels.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
fn pixels(x: f64) -> i32 {
    x.round() as i32
}

fn height(panel: &Panel, panels: usize) -> u32 {
    match &panel.y.scale {
        Scale::Names(names) => u32::try_from(names.len()).unwrap_or(1) * 20 + 26,
        _ if panels == 1 => 380,
        _ => 78 * u32::from(panel.height) + 22,
    }
}

/// Roughly the width of small text, in pixels.
fn width_of(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(0) * 7
}

/// Layers by name with place and row.
fn legend(figure: &Figure, width: u32) -> Vec<(&Layer, u32, u32)> {
    let mut placed: Vec<(&Layer, u32, u32)> = Vec::new();
    let (mut x, mut row) = (12, 0);
    let named = figure.panels.iter().filter(|panel| !matches!(panel.y.scale, Scale::Names(_)));
    for layer in named.flat_map(|panel| &panel.layers) {
        if placed.iter().any(|(known, ..)| known.name == layer.name) {
            continue;
        }
        let own = width_of(&layer.name) + 46;
        if x > 12 && x + own > width {
            (x, row) = (12, row + 1);
        }
        placed.push((layer, x, row));
        x += own;
    }
    placed
}

fn swatch(root: &Area, layer: &Layer, x: i32, y: i32) -> Result<(), SvgError> {
    let middle = y + 8;
    let colour = hue(layer.hue);
    match &layer.shape {
        Shape::Points { symbol, .. } => root.draw(&mark(*symbol, (x + 12, middle), colour))?,
        Shape::Band(_) => root.draw(&Rectangle::new([(x, y + 3), (x + 24, y + 13)], colour.mix(0.3).filled()))?,
        Shape::Cells { .. } => {
            for (number, at) in (0..).zip([x, x + 6, x + 12, x + 18]) {
                root.draw(&Rectangle::new([(at, y + 3), (at + 6, y + 13)], heat(f64::from(number) / 3.0).filled()))?;
            }
        }
        Shape::Steps(_) | Shape::Line(_) => {
            for (from, to) in look::dashes(layer.dash, 24) {
                root.draw(&PathElement::new([(x + from, middle), (x + to, middle)], stroke(colour, 2)))?;
            }
        }
    }
    root.draw(&Text::new(layer.name.clone(), (x + 30, y + 1), text(13, TEXT)))?;
    Ok(())
}

fn stroke(colour: RGBColor, width: u32) -> ShapeStyle {
    ShapeStyle::from(&colour).stroke_width(width)
}

/// A mark around a pixel.
fn mark(symbol: Symbol, (x, y): (i32, i32), colour: RGBColor) -> Polygon<(i32, i32)> {
    let corners = match symbol {
        Symbol::Circle => vec![(-2, -4), (2, -4), (4, -2), (4, 2), (2, 4), (-2, 4), (-4, 2), (-4, -2)],
        Symbol::Triangle => vec![(0, -5), (5, 4), (-5, 4)],
        Symbol::Square => vec![(-4, -4), (4, -4), (4, 4), (-4, 4)],
        Symbol::Diamond => vec![(0, -5), (5, 0), (0, 5), (-5, 0)],
        Symbol::Tick => vec![(-1, -6), (1, -6), (1, 6), (-1, 6)],
    };
    Polygon::new(corners.into_iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>(), colour.filled())
}

/// Upright rules that lie in the picture: middle of the label in pixels from the left end of the axis, and row from below.
fn placed(figure: &Figure, width: f64) -> Vec<(&Rule, i32, u32)> {
    let axis = Coordinate::new(&figure.x);
    let mut rules: Vec<&Rule> =
        figure.panels.iter().flat_map(|panel| &panel.rules).filter(|rule| rule.along == Along::X).collect();
    rules.sort_by(|a, b| a.at.total_cmp(&b.at));
    let mut ends: Vec<f64> = Vec::new();
    let mut placed = Vec::new();
    for rule in rules {
        let share = axis.share(rule.at);
        if !(0.0..=1.0).contains(&share) {
            continue;
        }
        let half = f64::from(width_of(&rule.label)) / 2.0 + 5.0;
        let middle = (share * width).min(width + f64::from(RIGHT) - half);
        let row = ends.iter().position(|end| *end <= middle - half).unwrap_or_else(|| {
            ends.push(0.0);
            ends.len() - 1
        });
        ends[row] = middle + half;
        placed.push((rule, pixels(middle), u32::try_from(row).unwrap_or(0)));
    }
    placed
}

fn draw_panel(area: &Area, figure: &Figure, panel: &Panel, left: u32, last: bool) -> Result<(), SvgError> {
    let mut builder = ChartBuilder::on(area);
    builder
        .margin_right(RIGHT)
        .margin_bottom(if last { 4 } else { 22 })
        .margin_left(MARGIN)
        .y_label_area_size(left - MARGIN);
    builder.x_label_area_size(if last { BOTTOM - 4 } else { 0 });
    let mut chart = builder.build_cartesian_2d(Coordinate::new(&figure.x), Coordinate::new(&panel.y))?;
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(WHITE.mix(0.0)).bold_line_style(GRID).axis_style(SOFT);
    mesh.label_style(text(12, TEXT)).axis_desc_style(text(13, TEXT));
    mesh.x_desc(if last { figure.x.label.as_str() } else { "" }).y_desc(panel.y.label.as_str());
    mesh.y_labels(if panel.height == 1 && figure.panels.len() > 1 { 4 } else { 9 }).x_labels(10);
    mesh.draw()?;
    for layer in &panel.layers {
        draw_layer(&mut chart, panel, layer)?;
    }
    for rule in &panel.rules {
        draw_rule(&mut chart, figure, panel, rule)?;
    }
    Ok(())
}

fn draw_rule(chart: &mut Chart, figure: &Figure, panel: &Panel, rule: &Rule) -> Result<(), SvgError> {
    let (axis, ends) = match rule.along {
        Along::X => (&figure.x, [(rule.at, panel.y.from), (rule.at, panel.y.to)]),
        Along::Y => (&panel.y, [(figure.x.from, rule.at), (figure.x.to, rule.at)]),
    };
    if !(axis.from..=axis.to).contains(&rule.at) {
        return Ok(());
    }
    let (colour, width, dash) = if rule.limit { (LIMIT, 2, (8, 4)) } else { (SOFT, 1, (2, 3)) };
    chart.draw_series(DashedLineSeries::new(ends, dash.0, dash.1, stroke(colour, width)))?;
    if rule.along == Along::Y {
        let style = text(12, LIMIT).pos(Pos::new(HPos::Right, VPos::Bottom));
        chart.draw_series([Text::new(rule.label.clone(), (figure.x.to, rule.at), style)])?;
    }
    Ok(())
}

fn draw_layer(chart: &mut Chart, panel: &Panel, layer: &Layer) -> Result<(), SvgError> {
    let colour = hue(layer.hue);
    let floor = panel.y.from;
    match &layer.shape {
        Shape::Steps(steps) => {
            let mut corners: Vec<(f64, f64)> = Vec::with_capacity(steps.len() * 2);
            for (x, y) in steps {
                corners.extend(corners.last().map(|(_, before)| (*x, *before)));
                corners.push((*x, y.max(floor)));
            }
            line(chart, layer, corners)?;
        }
        Shape::Line(points) => {
            for part in points.split(|(_, y)| y.is_none()) {
                let part: Vec<(f64, f64)> =
                    part.iter().filter_map(|(x, y)| Some((*x, y.as_ref()?.max(floor)))).collect();
                line(chart, layer, part)?;
            }
        }
        Shape::Band(points) => {
            for part in points.split(|(_, both)| both.is_none()) {
                let both = || {
                    part.iter()
                        .filter_map(|(x, both)| both.as_ref().map(|(low, high)| (*x, low.max(floor), high.max(floor))))
                };
                let up: Vec<(f64, f64)> = both().map(|(x, _, high)| (x, high)).collect();
                let down = both().map(|(x, low, _)| (x, low)).collect::<Vec<_>>().into_iter().rev();
                chart.draw_series([Polygon::new(
                    up.into_iter().chain(down).collect::<Vec<_>>(),
                    colour.mix(0.25).filled(),
                )])?;
            }
        }
        Shape::Points { symbol, points } => {
            let small = points.len() > 200;
            for point in points {
                let at = (point.x, point.y.max(floor));
                if small {
                    chart.draw_series([Circle::new(at, 2, colour.filled())])?;
                } else {
                    let element = plotters::element::EmptyElement::at(at) + mark(*symbol, (0, 0), colour);
                    chart.draw_series([element])?;
                }
            }
        }
        Shape::Cells { columns, rows, counts } => {
            let most = counts.iter().map(|(.., n)| *n).max().unwrap_or(1).max(2) as f64;
            let cells = counts.iter().filter_map(|(column, row, n)| {
                let (x, y) = (columns.get(*column as usize)?, rows.get(*row as usize)?);
                Some(Rectangle::new([(x.0, y.0), (x.1, y.1)], heat((*n as f64).ln() / most.ln()).filled()))
            });
            chart.draw_series(cells)?;
        }
    }
    Ok(())
}

fn line(chart: &mut Chart, layer: &Layer, points: Vec<(f64, f64)>) -> Result<(), SvgError> {
    let style = stroke(hue(layer.hue), 2);
    match look::dash(layer.dash) {
        None => chart.draw_series(LineSeries::new(points, style))?,
        Some((long, gap)) => chart.draw_series(DashedLineSeries::new(points, long, gap, style))?,
    };
    Ok(())
}
