//! Diagnostics as text and as JSON values.

use super::{Diagnostic, JsonDiagnostic, JsonPlace, Label, Severity};
use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use std::sync::Arc;

/// Longest offending text that JSON repeats, in characters.
const LONGEST_QUOTE: usize = 200;

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
        if source.text.trim().is_empty() {
            elements.push(Origin::path(source.name.as_str()).into());
        } else {
            let annotations = here.iter().map(|(label, kind)| {
                let text = Some(label.text.as_str()).filter(|text| !text.is_empty());
                kind.span(label.span.range.clone()).label(text)
            });
            elements.push(Snippet::source(&source.text).path(&source.name).annotations(annotations).into());
        }
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
