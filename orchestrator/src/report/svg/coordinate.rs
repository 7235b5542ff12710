//! An axis of a figure as plotters wants it.

use latlab_core::figure::{Axis, Scale};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// An axis.
#[derive(Debug, Clone)]
pub(super) struct Coordinate {
    axis: Axis,
}

impl Coordinate {
    pub(super) fn new(axis: &Axis) -> Self {
        Self { axis: axis.clone() }
    }

    fn position(&self, value: f64) -> f64 {
        match self.axis.scale {
            Scale::Log => value.max(f64::MIN_POSITIVE).log10(),
            Scale::Linear | Scale::Names(_) => value,
        }
    }

    /// Where `value` lies between the ends, 0..=1 within.
    pub(super) fn share(&self, value: f64) -> f64 {
        let (from, to) = (self.position(self.axis.from), self.position(self.axis.to));
        (self.position(value) - from) / (to - from)
    }

    /// Round numbers between the ends, at most about `most`.
    fn ticks(&self, most: usize) -> Vec<f64> {
        let (from, to) = (self.axis.from, self.axis.to);
        let within = |value: &f64| (from..=to).contains(value);
        match &self.axis.scale {
            Scale::Names(names) => {
                (0..names.len()).step_by(names.len().div_ceil(most.max(1)).max(1)).map(|i| i as f64).collect()
            }
            Scale::Linear => {
                let raw = (to - from) / most.max(1) as f64;
                let power = 10f64.powf(raw.log10().floor());
                let step =
                    [1.0, 2.0, 5.0, 10.0].into_iter().map(|s| s * power).find(|step| *step >= raw).unwrap_or(raw);
                let first = (from / step).ceil();
                (0..1000)
                    .map(|i| (first + f64::from(i)) * step)
                    .take_while(|value| *value <= to * (1.0 + 1e-12))
                    .collect()
            }
            Scale::Log => {
                let decades = (to / from).log10();
                let steps: &[f64] = match decades {
                    d if d > 3.0 => &[1.0],
                    d if d > 1.2 => &[1.0, 2.0, 5.0],
                    _ => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
                };
                let (low, high) = (whole(from.log10().floor()), whole(to.log10().ceil()));
                (low..=high).flat_map(|e| steps.iter().map(move |step| step * 10f64.powi(e))).filter(within).collect()
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "exponents of doubles are below 400")]
fn whole(value: f64) -> i32 {
    value as i32
}

impl Ranged for Coordinate {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    #[expect(clippy::cast_possible_truncation, reason = "`as` saturates; a picture has thousands of pixels")]
    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        // Names are read from the top.
        let share = match (&self.axis.scale, from > to) {
            (Scale::Names(_), true) => 1.0 - self.share(*value),
            _ => self.share(*value),
        };
        from + (share.clamp(-1.0, 2.0) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.bold_points())
    }

    fn range(&self) -> Range<f64> {
        self.axis.from..self.axis.to
    }
}

impl ValueFormatter<f64> for Coordinate {
    fn format_ext(&self, value: &f64) -> String {
        if let Scale::Names(names) = &self.axis.scale {
            let named = names.iter().enumerate().find(|(i, _)| (*i as f64 - value).abs() < 0.5);
            return named.map(|(_, name)| name.clone()).unwrap_or_default();
        }
        let exponent = value.abs().log10();
        match value {
            0.0 => "0".to_owned(),
            _ if exponent.abs() > 3.5 && (exponent - exponent.round()).abs() < 1e-9 => {
                format!("1e{}", whole(exponent.round()))
            }
            _ if value.abs() < 1e-3 => format!("{value:e}"),
            _ => ((value * 1e6).round() / 1e6).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, from: f64, to: f64) -> Coordinate {
        Coordinate { axis: Axis { label: String::new(), scale, from, to } }
    }

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(
            axis(Scale::Linear, 0.0, 50.0).ticks(10),
            [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0]
        );
        assert_eq!(axis(Scale::Log, 0.7, 2e5).ticks(10), [1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0]);
        let names = axis(Scale::Names((0..128).map(|i| format!("CPU {i}")).collect()), -0.5, 127.5);
        assert_eq!(names.ticks(10).len(), 10);
        assert_eq!(
            [0.0, 1e-6, 1e5, 12.5].map(|v| axis(Scale::Log, 1.0, 2.0).format_ext(&v)),
            ["0", "1e-6", "1e5", "12.5"]
        );
        assert_eq!(
            (names.format_ext(&3.0), names.map(&-0.5, (0, 128)), names.map(&-0.5, (128, 0))),
            ("CPU 3".into(), 0, 0)
        );
    }
}
