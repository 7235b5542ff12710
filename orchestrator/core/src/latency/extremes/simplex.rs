//! Downhill simplex for a few parameters.

/// Point of smallest `f` found from `start` with first steps of `step`, and `f` there (Nelder & Mead 1965, standard
/// coefficients; restarted once, as a collapsed simplex may stop early). `f` may be infinite, but not at `start`.
pub(super) fn minimise<const N: usize>(start: [f64; N], step: f64, f: impl Fn(&[f64; N]) -> f64) -> ([f64; N], f64) {
    let (first, _) = descend(start, step, &f);
    descend(first, step / 10.0, &f)
}

fn descend<const N: usize>(start: [f64; N], step: f64, f: &impl Fn(&[f64; N]) -> f64) -> ([f64; N], f64) {
    let valued = |point: [f64; N]| (point, f(&point));
    let mut simplex = vec![valued(start)];
    for axis in 0..N {
        let mut point = start;
        point[axis] += step;
        simplex.push(valued(point));
    }
    for _ in 0..200 * N {
        simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (best, worst) = (simplex[0], simplex[N]);
        if worst.1 - best.1 <= 1e-10 * (1.0 + best.1.abs()) {
            break;
        }
        let centre: [f64; N] =
            std::array::from_fn(|axis| simplex[..N].iter().map(|p| p.0[axis]).sum::<f64>() / N as f64);
        let along =
            |factor: f64| valued(std::array::from_fn(|axis| centre[axis] + factor * (worst.0[axis] - centre[axis])));
        let reflected = along(-1.0);
        simplex[N] = if reflected.1 < best.1 {
            let expanded = along(-2.0);
            if expanded.1 < reflected.1 { expanded } else { reflected }
        } else if reflected.1 < simplex[N - 1].1 {
            reflected
        } else {
            let contracted = if reflected.1 < worst.1 { along(-0.5) } else { along(0.5) };
            if contracted.1 >= worst.1.min(reflected.1) {
                for point in &mut simplex[1..] {
                    *point = valued(std::array::from_fn(|axis| (point.0[axis] + best.0[axis]) / 2.0));
                }
                continue;
            }
            contracted
        };
    }
    simplex.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((start, f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use super::minimise;

    #[test]
    fn finds_the_bottom_of_known_valleys() {
        let (at, value) = minimise([-1.2, 1.0], 0.5, |[x, y]| (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2));
        assert!((at[0] - 1.0).abs() < 1e-3 && (at[1] - 1.0).abs() < 1e-3 && value < 1e-6, "{at:?} {value}");
        // A wall of infinity on one side.
        let (at, _) = minimise([3.0], 1.0, |[x]| if *x < 1.0 { f64::INFINITY } else { *x });
        assert!((at[0] - 1.0).abs() < 1e-3, "{at:?}");
    }
}
