//! Colours and patterns of pictures: those of the light page (`assets/report.css`).

use plotters::style::RGBColor;

pub(super) const WHITE: RGBColor = RGBColor(255, 255, 255);
pub(super) const TEXT: RGBColor = RGBColor(0x1b, 0x1f, 0x24);
pub(super) const SOFT: RGBColor = RGBColor(0x57, 0x60, 0x6a);
pub(super) const GRID: RGBColor = RGBColor(0xdd, 0xe1, 0xe6);
pub(super) const LIMIT: RGBColor = RGBColor(0xa1, 0x26, 0x0d);

const HUES: [RGBColor; latlab_core::figure::HUES as usize] = [
    RGBColor(0x0b, 0x5c, 0xad),
    RGBColor(0xb3, 0x40, 0x0f),
    RGBColor(0x00, 0x75, 0x5e),
    RGBColor(0x8a, 0x2f, 0x8f),
    RGBColor(0xa1, 0x1a, 0x45),
    RGBColor(0x6b, 0x5d, 0x00),
    RGBColor(0x57, 0x60, 0x6a),
    RGBColor(0x1d, 0x74, 0x82),
];

const HEAT: [RGBColor; 9] = [
    RGBColor(0xd5, 0xe6, 0xf7),
    RGBColor(0xb3, 0xd1, 0xef),
    RGBColor(0x8d, 0xb8, 0xe4),
    RGBColor(0x64, 0x9c, 0xd6),
    RGBColor(0x40, 0x7f, 0xc2),
    RGBColor(0x24, 0x63, 0xa8),
    RGBColor(0x13, 0x4a, 0x88),
    RGBColor(0x0a, 0x34, 0x66),
    RGBColor(0x06, 0x21, 0x3f),
];

/// A hue of a layer.
pub(super) fn hue(hue: u8) -> RGBColor {
    HUES[usize::from(hue) % HUES.len()]
}

/// The colour of a cell, from 0 to 1 of the logarithm of the largest count.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the number of colours")]
pub(super) fn heat(share: f64) -> RGBColor {
    let at = (share.clamp(0.0, 1.0) * HEAT.len() as f64) as usize;
    HEAT[at.min(HEAT.len() - 1)]
}

/// Length and gap of a pattern, in pixels; none for a solid line.
pub(super) fn dash(dash: u8) -> Option<(u32, u32)> {
    [None, Some((7, 4)), Some((2, 3)), Some((12, 3))][usize::from(dash) % 4]
}

/// The strokes of a pattern over `length` pixels.
pub(super) fn dashes(pattern: u8, length: i32) -> Vec<(i32, i32)> {
    let Some((long, gap)) = dash(pattern) else { return vec![(0, length)] };
    let (long, gap) = (i32::try_from(long).unwrap_or(1), i32::try_from(gap).unwrap_or(1));
    (0..length)
        .step_by(usize::try_from(long + gap).unwrap_or(1))
        .map(|from| (from, (from + long).min(length)))
        .collect()
}
