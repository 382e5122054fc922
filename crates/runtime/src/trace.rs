//! Joins a call to the trace that its caller is in.

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The parts of a W3C `traceparent` (`00-<trace id>-<parent id>-<flags>`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceParent {
    trace: TraceId,
    parent: SpanId,
    flags: TraceFlags,
}

impl TraceParent {
    /// None for anything that is not a valid version-00 value: a broken trace header never fails a call.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, parent, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let well_formed = version == "00"
            && parts.next().is_none()
            && [trace, parent, flags].iter().all(|part| {
                part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
            })
            && (trace.len(), parent.len(), flags.len()) == (32, 16, 2);
        if !well_formed {
            return None;
        }
        let trace = TraceId::from_hex(trace).ok().filter(|id| *id != TraceId::INVALID)?;
        let parent = SpanId::from_hex(parent).ok().filter(|id| *id != SpanId::INVALID)?;
        let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
        Some(Self { trace, parent, flags })
    }

    pub(crate) fn trace_id(&self) -> String {
        self.trace.to_string()
    }

    /// Makes a span a child of the caller's. Without an exporter this changes nothing.
    pub(crate) fn adopt(&self, span: &tracing::Span) {
        let context =
            SpanContext::new(self.trace, self.parent, self.flags, true, TraceState::default());
        let _ = span.set_parent(opentelemetry::Context::new().with_remote_span_context(context));
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
            "00-é",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
    }
}
