//! Exports records as OpenTelemetry logs, in the JSON form of OTLP.
//!
//! Each line of the export is an `ExportLogsServiceRequest` with the records of one batch, as the file exporter of the
//! OpenTelemetry collector writes it.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::record::{AuditEntry, AuditOutcome, AuditRecord};

/// Maximum records per line. A collector limits the size of a request.
const BATCH_SIZE: usize = 512;

/// Severity numbers of OpenTelemetry.
const INFO: u8 = 9;
const WARN: u8 = 13;
const ERROR: u8 = 17;

/// Writes records as OTLP JSON. Call [`OtlpWriter::finish`] after the last one.
pub struct OtlpWriter<W> {
    out: W,
    version: String,
    batch: Vec<Value>,
}

impl<W: Write> OtlpWriter<W> {
    /// Creates a writer. `version` is that of the program.
    pub fn new(out: W, version: &str) -> Self {
        Self { out, version: version.to_owned(), batch: vec![] }
    }

    /// Adds a record, and writes the batch if it is full.
    pub fn add_record(&mut self, record: &AuditRecord) -> io::Result<()> {
        self.batch.push(log_record(record));
        if self.batch.len() >= BATCH_SIZE { self.write_batch() } else { Ok(()) }
    }

    /// Writes the last batch.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_batch()?;
        self.out.flush()
    }

    fn write_batch(&mut self) -> io::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let records = std::mem::take(&mut self.batch);
        let resource = [
            attribute("service.name", &json!("vouch")),
            attribute("service.version", &json!(self.version)),
        ];
        let request = json!({"resourceLogs": [{
            "resource": {"attributes": resource},
            "scopeLogs": [{"scope": {"name": "vouch.audit"}, "logRecords": records}],
        }]});
        serde_json::to_writer(&mut self.out, &request)?;
        self.out.write_all(b"\n")
    }
}

fn log_record(record: &AuditRecord) -> Value {
    let (severity, name) = match &record.entry {
        AuditEntry::Call(call) => match call.outcome {
            AuditOutcome::Ok | AuditOutcome::InputRequired => (INFO, "call"),
            AuditOutcome::Unknown => (WARN, "call"),
            AuditOutcome::Error => (ERROR, "call"),
        },
        AuditEntry::Intent(_) => (INFO, "intent"),
        AuditEntry::Event { .. } => (WARN, "event"),
    };
    let text = match severity {
        INFO => "INFO",
        WARN => "WARN",
        _ => "ERROR",
    };
    let fields = serde_json::to_value(record).unwrap_or_default();
    let mut attributes = vec![attribute("event.name", &json!(format!("vouch.audit.{name}")))];
    let fields = fields.as_object().cloned().unwrap_or_default();
    let trace = fields.get("trace").and_then(Value::as_str).filter(|it| is_trace_id(it));
    let trace = trace.map(str::to_owned);
    for (key, value) in fields.iter().filter(|(key, value)| *key != "time" && !value.is_null()) {
        attributes.push(attribute(&format!("vouch.{key}"), value));
    }
    // Numbers of 64 bits are strings in the JSON form of protobuf.
    let time = record.entry.time().as_nanosecond().max(0).to_string();
    let mut log = Map::new();
    log.insert("timeUnixNano".into(), time.clone().into());
    log.insert("observedTimeUnixNano".into(), time.into());
    log.insert("severityNumber".into(), severity.into());
    log.insert("severityText".into(), text.into());
    log.insert("body".into(), json!({"stringValue": summarize(&record.entry)}));
    log.insert("attributes".into(), attributes.into());
    if let Some(trace) = trace {
        log.insert("traceId".into(), trace.into());
    }
    log.into()
}

fn summarize(entry: &AuditEntry) -> String {
    match entry {
        AuditEntry::Call(call) => {
            let tool = call.tool.as_deref().unwrap_or("(no tool)");
            match &call.code {
                Some(code) => format!("{tool} by {}: {code}", call.caller),
                None => format!("{tool} by {}", call.caller),
            }
        }
        AuditEntry::Intent(intent) => format!("{} by {} begins", intent.tool, intent.caller),
        AuditEntry::Event { event, .. } => {
            let event = serde_json::to_value(event).unwrap_or_default();
            format!("audit log event {}", event["event"].as_str().unwrap_or_default())
        }
    }
}

/// Returns true for the 32 hexadecimal digits of a trace id.
fn is_trace_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn attribute(key: &str, value: &Value) -> Value {
    json!({"key": key, "value": any_value(value)})
}

/// Returns a value as an `AnyValue` of OpenTelemetry.
fn any_value(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(value) => json!({"boolValue": value}),
        Value::Number(value) if value.is_f64() => json!({"doubleValue": value}),
        Value::Number(value) => json!({"intValue": value.to_string()}),
        Value::String(value) => json!({"stringValue": value}),
        Value::Array(items) => {
            json!({"arrayValue": {"values": items.iter().map(any_value).collect::<Vec<_>>()}})
        }
        Value::Object(map) => {
            let values: Vec<_> = map.iter().map(|(key, value)| attribute(key, value)).collect();
            json!({"kvlistValue": {"values": values}})
        }
    }
}
