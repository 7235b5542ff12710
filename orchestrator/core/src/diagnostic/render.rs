//! Diagnostics as text and as JSON values.

use super::{Diagnostic, JsonDiagnostic, JsonPlace, Label, Severity, Source, Span};
use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use std::ops::Range;
use std::sync::Arc;

/// Longest offending text that JSON repeats, in characters.
const LONGEST_QUOTE: usize = 200;
/// Longest line that is shown, in bytes.
const LONGEST_LINE: usize = 1000;
/// Longest excerpt that is shown, in bytes: lines between two labels are left out, but looked at.
const LONGEST_EXCERPT: usize = 64 << 10;

/// How diagnostics look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// ASCII without colour: pipes, files, `NO_COLOR`.
    Plain,
    /// Colour, for terminals.
    Colour,
}

pub(super) fn render(diagnostic: &Diagnostic, style: Style) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut elements: Vec<Element<'_>> = Vec::new();
    let mut labels: Vec<(&Label, AnnotationKind)> = vec![(&diagnostic.primary, AnnotationKind::Primary)];
    labels.extend(diagnostic.secondary.iter().map(|label| (label, AnnotationKind::Context)));
    while let Some((first, _)) = labels.first() {
        let source = &first.span.source;
        let (here, rest): (Vec<_>, Vec<_>) =
            labels.iter().copied().partition(|(label, _)| Arc::ptr_eq(&label.span.source, source));
        elements.push(snippet(source, &first.span, &here));
        labels = rest;
    }
    if let Some(help) = &diagnostic.help {
        elements.push(Level::HELP.message(help.as_str()).into());
    }
    let report = [level.primary_title(diagnostic.message.as_str()).elements(elements)];
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colour => Renderer::styled(),
    };
    renderer.render(&report)
}

/// The lines that hold the labels, or only the place where they are too long to be shown.
fn snippet<'a>(source: &'a Source, first: &Span, labels: &[(&'a Label, AnnotationKind)]) -> Element<'a> {
    let text = source.text.as_str();
    let start = labels.iter().map(|(label, _)| label.span.range.start).min().unwrap_or(0);
    let end = labels.iter().map(|(label, _)| label.span.range.end).max().unwrap_or(0);
    let start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[end..].find('\n').map_or(text.len(), |newline| end + newline);
    let shown = &text[start..end];
    if text.trim().is_empty() {
        return Origin::path(source.name.as_str()).into();
    }
    if shown.lines().any(|line| line.len() > LONGEST_LINE) || shown.len() > LONGEST_EXCERPT {
        let (line, column) = first.line_column();
        return Origin::path(source.name.as_str()).line(line).char_column(column).into();
    }
    let annotations = labels.iter().map(|(label, kind)| {
        let text = Some(label.text.as_str()).filter(|text| !text.is_empty());
        let Range { start: from, end: to } = label.span.range;
        kind.span(from - start..to - start).label(text)
    });
    let line = text[..start].matches('\n').count() + 1;
    // Spans are byte ranges: a carriage return is blanked, not removed.
    Snippet::source(shown.replace('\r', " ")).line_start(line).path(&source.name).annotations(annotations).into()
}

pub(super) fn json(diagnostic: &Diagnostic) -> JsonDiagnostic {
    JsonDiagnostic {
        severity: diagnostic.severity,
        message: diagnostic.message.clone(),
        at: place(&diagnostic.primary),
        related: diagnostic.secondary.iter().map(place).collect(),
        help: diagnostic.help.clone(),
    }
}

fn place(label: &Label) -> JsonPlace {
    let (line, column) = label.span.line_column();
    JsonPlace {
        file: label.span.source.name.clone(),
        line,
        column,
        text: label.span.text().chars().take(LONGEST_QUOTE).collect(),
        label: label.text.clone(),
    }
}
