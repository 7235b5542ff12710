//! Pages in headless Chromium: what a person would see, and what must not happen.

use super::compared::{Board, latlab, text};
use super::support::chromium::Browser;
use super::support::synthetic::Synthetic;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What a board might say to be taken for markup, for a command, or for other words.
pub(crate) const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"quoted\" 'single' & \u{202e}desrever\u{7}\u{1b}[31m";

const AXE: &str = include_str!("../assets/axe/axe.min.js");

/// Pictures are kept for people to look at.
fn pictures() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reports");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn report(results: &Path, args: &[&str], file: &str) -> PathBuf {
    let path = results.join(file);
    let path_text = path.display().to_string();
    let output = latlab(results, &[&["report", "-o", &path_text][..], args].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    path
}

/// Nothing wrong on the console, no request, nothing wider than the window, every figure drawn.
#[track_caller]
fn sound(browser: &mut Browser, figures: usize) {
    assert_eq!(browser.errors(), Vec::<String>::new());
    let drawn = browser.value("[...document.querySelectorAll('.chart')].filter(c => c.dataset.drawn === 'yes').length");
    assert_eq!(drawn, figures, "figures drawn");
    let wide = browser.value(
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('.table') && !e.closest('.live') && \
         e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && e.getClientRects().length)\
         .map(e => e.tagName + '.' + e.className).slice(0, 5).join()",
    );
    assert_eq!(wide, "", "wider than the window");
}

/// Words of the charts that cover each other or are cut.
fn crowded(browser: &mut Browser) -> Value {
    browser.value(
        "(() => { const bad = []; \
         for (const svg of document.querySelectorAll('.chart svg')) { \
           const frame = svg.getBoundingClientRect(); \
           const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]).filter(([t, b]) => t.trim() && b.width); \
           for (const [t, b] of boxes) if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1) bad.push('cut: ' + t); \
           for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) { \
             const [t, a] = boxes[i], [u, b] = boxes[j]; \
             if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3) bad.push('covered: ' + t + ' / ' + u); } } \
         return bad.join('; '); })()",
    )
}

/// WCAG 2 A and AA by axe-core.
#[track_caller]
fn accessible(browser: &mut Browser) {
    browser.value(AXE);
    let found = browser.value(
        "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})\
         .then(r => (r.passes.some(p => p.id === 'color-contrast' && p.nodes.length > 20) ? '' : 'contrast was not looked at ') + r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' ' + n.failureSummary).join(' | ')).join('\\n'))",
    );
    assert_eq!(found, "");
}

#[test]
fn a_run_is_seen_read_and_printed() {
    let Some(mut browser) = Browser::start() else { return };
    let results = tempfile::tempdir().unwrap();
    Synthetic { said: HOSTILE.into(), ..Synthetic::default() }.store(results.path());
    let page = report(results.path(), &[], "run.html");
    for (width, dark) in [(375, false), (1024, false), (1920, false), (1024, true)] {
        browser.look(width, 900, dark);
        browser.open(&page);
        sound(&mut browser, 4);
        assert_eq!(crowded(&mut browser), "", "at {width}");
        let name = format!("run-{width}{}.png", if dark { "-dark" } else { "" });
        browser.screenshot(&pictures().join(name));
        accessible(&mut browser);
    }
    // What a board says is text, and is seen as it is.
    assert_eq!(browser.value("document.querySelectorAll('img, script[src]').length"), 0);
    let words = browser.value("document.querySelector('h1').textContent");
    assert!(words.as_str().unwrap().contains("</script><script>alert(1)</script><img src=x"), "{words}");
    assert!(words.as_str().unwrap().contains("\\u{202e}desrever"), "{words}");

    hover(&mut browser);
    toggle(&mut browser);
    keys(&mut browser);
    // The data as a table.
    browser.value("document.querySelectorAll('#over-time details.data summary')[0].click()");
    browser.until("document.querySelectorAll('#over-time details.data table tbody tr').length > 100");
    assert_eq!(browser.errors(), Vec::<String>::new());
    let printed = browser.print(&pictures().join("run.pdf"));
    assert!(printed.starts_with(b"%PDF") && printed.len() > 50_000, "{} bytes", printed.len());
}

fn hover(browser: &mut Browser) {
    let middle = "(() => { const c = document.querySelector('#histogram .chart'); c.scrollIntoView({block: 'center'}); \
                  const r = c.getBoundingClientRect(); return [r.left + r.width * 0.3, r.top + r.height / 2]; })()";
    let at = browser.value(middle);
    browser.point(at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    browser.until("!document.querySelector('#histogram .tip').hidden");
    let tip = browser.value("document.querySelector('#histogram .tip').textContent");
    assert!(tip.as_str().unwrap().contains("latency [us]") && tip.as_str().unwrap().contains("all threads: "), "{tip}");
}

fn toggle(browser: &mut Browser) {
    let paths = "document.querySelectorAll('#histogram .chart svg path[fill=\"none\"], #histogram .chart svg path[fill=\"transparent\"]').length";
    let before = browser.value(paths).as_u64().unwrap();
    browser.value("document.querySelectorAll('#histogram .legend input')[1].click()");
    browser.until(&format!("{paths} < {before}"));
    browser.value("document.querySelectorAll('#histogram .legend input')[1].click()");
    browser.until(&format!("{paths} === {before}"));
}

fn keys(browser: &mut Browser) {
    browser.value("document.querySelector('#over-time .chart').focus()");
    browser.press("ArrowRight");
    browser.press("ArrowRight");
    let said = browser.value("document.querySelector('#over-time .live').textContent");
    assert!(said.as_str().unwrap().contains("block maximum"), "{said}");
    let labels = "[...document.querySelectorAll('#over-time .chart svg text')].map(t => t.textContent).join()";
    let whole = browser.value(labels);
    browser.value("document.querySelector('#over-time [data-do=in]').click()");
    assert_ne!(browser.value(labels), whole, "zoomed");
    browser.value("document.querySelector('#over-time .chart').focus()");
    browser.press("0");
    assert_eq!(browser.value(labels), whole, "the whole figure again");
}

#[test]
fn twelve_hours_and_many_cpus_stay_light_and_readable() {
    let Some(mut browser) = Browser::start() else { return };
    let results = tempfile::tempdir().unwrap();
    Synthetic { minutes: 720, ..Synthetic::default() }.store(results.path());
    let page = report(results.path(), &[], "night.html");
    let bytes = std::fs::metadata(&page).unwrap().len();
    assert!(bytes < 2_000_000, "{bytes} bytes");
    browser.look(1024, 900, false);
    let took_ms = browser.open(&page);
    eprintln!("12 hours: {bytes} bytes, first figure after {took_ms:.0} ms");
    // On a quiet machine it is a fraction of a second (docs/reports.md); tests share theirs.
    assert!((0.0..10_000.0).contains(&took_ms), "{took_ms} ms");
    sound(&mut browser, 4);
    assert_eq!(crowded(&mut browser), "");
    browser.screenshot(&pictures().join("night-1024.png"));

    let results = tempfile::tempdir().unwrap();
    Synthetic { minutes: 3, cpus: 128, ..Synthetic::default() }.store(results.path());
    let page = report(results.path(), &[], "wide.html");
    for width in [375, 1024] {
        browser.look(width, 900, false);
        browser.open(&page);
        sound(&mut browser, 5);
        assert_eq!(crowded(&mut browser), "", "at {width}");
        browser.screenshot(&pictures().join(format!("wide-{width}.png")));
    }
}

#[test]
fn comparisons_campaigns_and_nights_are_seen() {
    let Some(mut browser) = Browser::start() else { return };
    let results = tempfile::tempdir().unwrap();

    for number in 0..12u32 {
        super::compared::night_in(
            results.path(),
            &format!("202601{:02}-000000-isolation-0001", number + 1),
            2,
            |run, board: &mut Board| {
                board.boot = u64::from(number * 6 + run);
                board.level = if number < 6 { 100 } else { 130 };
                board.spoilt = number == 3 && run == 0;
            },
        );
    }
    let pages = [
        (report(results.path(), &["20260101/isolcpus=1", "20260101/isolcpus=none"], "compared.html"), 3, "compared"),
        (report(results.path(), &["isolation"], "campaign.html"), 3, "campaign"),
    ];
    for (page, figures, name) in &pages {
        for width in [375, 1024] {
            browser.look(width, 900, false);
            browser.open(page);
            sound(&mut browser, *figures);
            assert_eq!(crowded(&mut browser), "", "{name} at {width}");
            browser.screenshot(&pictures().join(format!("{name}-{width}.png")));
        }
        accessible(&mut browser);
    }
    let folder = report(results.path(), &["--nightly", "board"], "nights");
    for (width, dark) in [(375, false), (1024, true)] {
        browser.look(width, 900, dark);
        browser.open(&folder.join("index.html"));
        sound(&mut browser, 2);
        assert_eq!(crowded(&mut browser), "", "nights at {width}");
        browser.screenshot(&pictures().join(format!("nights-{width}.png")));
        accessible(&mut browser);
    }
    let words = browser.value("document.querySelector('main').textContent").as_str().unwrap().to_owned();
    for expected in ["2 TO LOOK AT", "rose from", "isolation / isolcpus=1"] {
        assert!(words.contains(expected), "lacks {expected}");
    }
    // The links of the index lead somewhere.
    let links = browser.value("[...document.querySelectorAll('main a[href$=html]')].map(a => a.getAttribute('href'))");
    let links: Vec<&str> = links.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(links.len(), 2, "{links:?}");
    assert!(links.iter().all(|link| folder.join(link).is_file()), "{links:?}");
    browser.open(&folder.join(links[0]));
    sound(&mut browser, 4);
}
