//! Joins a call to the trace that its caller is in.

use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{SpanContext, TraceContextExt};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing_opentelemetry::OpenTelemetrySpanExt;

const TRACEPARENT: &str = "traceparent";

/// The caller's span, from a W3C `traceparent` (`00-<trace id>-<parent id>-<flags>`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceParent(SpanContext);

impl TraceParent {
    /// Returns None for anything that is not a valid version-00 value: a broken trace header never fails a call.
    ///
    /// The propagator also takes later versions, ids that lack leading zeros, and white space around the value. Those
    /// are refused here, because the text is passed on to upstream servers as it is.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let context = TraceContextPropagator::new()
            .extract_with_context(&opentelemetry::Context::new(), &TraceHeader(text));
        let span = context.span().span_context().clone();
        let canonical = format!("00-{}-{}-", span.trace_id(), span.span_id());
        let flags = text.strip_prefix(&canonical)?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (span.is_valid() && flags.len() == 2 && flags.bytes().all(is_hex)).then_some(Self(span))
    }

    pub(crate) fn trace_id(&self) -> String {
        self.0.trace_id().to_string()
    }

    /// Makes a span a child of the caller's. Without an exporter this changes nothing.
    pub(crate) fn adopt(&self, span: &tracing::Span) {
        let caller = opentelemetry::Context::new().with_remote_span_context(self.0.clone());
        let _ = span.set_parent(caller);
    }
}

/// A `traceparent` alone: calls carry no `tracestate`.
struct TraceHeader<'a>(&'a str);

impl Extractor for TraceHeader<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        (key == TRACEPARENT).then_some(self.0)
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_values_are_taken() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(
            TraceParent::parse(good).unwrap().trace_id(),
            "4bf92f3577b34da6a3ce929d0e0e4736"
        );
        for bad in [
            "",
            "00",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-+1",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-04bf92f3577b34da6a3ce929d0e0e4736-0f067aa0ba902b7-01",
            "00-1-2-01",
            "00-é",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
    }
}
