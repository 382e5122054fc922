//! Exports records as OpenTelemetry logs.

use serde_json::{Value, json};
use store::audit::{
    self, AuditApproval, AuditArguments, AuditCall, AuditEntry, AuditLogEvent, AuditOutcome,
    AuditRecord, OtlpWriter,
};
use tempfile::TempDir;

use crate::audit::{call_record, intent_record, write_log};

fn record(seq: u64, entry: AuditEntry) -> AuditRecord {
    AuditRecord { seq, entry, prev: "hmac:0:0".into() }
}

fn export(records: &[AuditRecord]) -> Vec<Value> {
    let mut out = vec![];
    let mut writer = OtlpWriter::new(&mut out, "1.2.3");
    records.iter().for_each(|record| writer.add_record(record).unwrap());
    writer.finish().unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn log_records(request: &Value) -> &Vec<Value> {
    request["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap()
}

/// Returns severity, text and body of each record.
fn summarize(request: &Value) -> Vec<(u64, &str, &str)> {
    let summarize = |log| {
        let log: &Value = log;
        let body = log["body"]["stringValue"].as_str().unwrap();
        (log["severityNumber"].as_u64().unwrap(), log["severityText"].as_str().unwrap(), body)
    };
    log_records(request).iter().map(summarize).collect()
}

#[test]
fn call_is_exported_with_all_its_fields() {
    let call = AuditCall {
        client: Some("editor 1.0".into()),
        contract: Some("sha256:c".into()),
        arguments: Some(AuditArguments {
            digest: "hmac:a".into(),
            shape: json!({"path": "string(9)", "deep": [1, 2.5, true, null, "x"]}),
            values: None,
        }),
        approval: Some(AuditApproval {
            id: "3f9a000000".into(),
            by: "cli:ada".into(),
            channel: store::ApprovalChannel::Queue,
        }),
        outcome: AuditOutcome::Error,
        code: Some("NOT_FOUND".into()),
        trace: Some("4bf92f3577b34da6a3ce929d0e0e4736".into()),
        call: Some("id".into()),
        ..call_record(7)
    };
    insta::assert_json_snapshot!(export(&[record(3, AuditEntry::Call(call))]));
}

#[test]
fn severity_and_text_depend_on_the_entry() {
    let time = call_record(1).time;
    let outcomes =
        [AuditOutcome::Ok, AuditOutcome::InputRequired, AuditOutcome::Unknown, AuditOutcome::Error];
    let calls = outcomes.map(|outcome| {
        let code = (outcome == AuditOutcome::Error).then(|| "BAD".to_owned());
        AuditEntry::Call(AuditCall { outcome, code, ..call_record(1) })
    });
    let intent = intent_record("id", time);
    let others = [
        AuditEntry::Call(AuditCall { tool: None, ..call_record(1) }),
        AuditEntry::Intent(intent),
        AuditEntry::Event { time, event: AuditLogEvent::Lost { records: 3 } },
    ];
    let records: Vec<_> =
        calls.into_iter().chain(others).zip(1..).map(|(entry, seq)| record(seq, entry)).collect();
    let requests = export(&records);
    assert_eq!(
        summarize(&requests[0]),
        [
            (9, "INFO", "hello by alice"),
            (9, "INFO", "hello by alice"),
            (13, "WARN", "hello by alice"),
            (17, "ERROR", "hello by alice: BAD"),
            (9, "INFO", "(no tool) by alice"),
            (9, "INFO", "write by alice begins"),
            (13, "WARN", "audit log event lost"),
        ]
    );
    let names: Vec<_> = log_records(&requests[0])
        .iter()
        .map(|log| log["attributes"][0]["value"]["stringValue"].as_str().unwrap().to_owned())
        .collect();
    let [call, intent, event] = ["call", "intent", "event"].map(|it| format!("vouch.audit.{it}"));
    let calls = [call.clone(), call.clone(), call.clone(), call.clone(), call];
    assert_eq!(names, [&calls[..], &[intent, event]].concat());
}

/// Only the 32 digits of a trace id are one; the field is exported in any case.
#[test]
fn trace_id_is_exported_if_it_is_one() {
    let digits = "4bf92f3577b34da6a3ce929d0e0e4736";
    for (trace, is_id) in [
        (digits.to_owned(), true),
        (digits.to_uppercase(), true),
        (digits[1..].to_owned(), false),
        (format!("{digits}0"), false),
        (format!("{}g", &digits[1..]), false),
        (String::new(), false),
    ] {
        let call = AuditCall { trace: Some(trace.clone()), ..call_record(1) };
        let requests = export(&[record(1, AuditEntry::Call(call))]);
        let log = &log_records(&requests[0])[0];
        assert_eq!(log.get("traceId").is_some(), is_id, "{trace}");
        let attributes = log["attributes"].as_array().unwrap();
        assert!(attributes.iter().any(|it| it["key"] == "vouch.trace"), "{trace}");
    }
}

#[test]
fn records_are_exported_in_batches() {
    for (count, sizes) in
        [(0, vec![]), (1, vec![1]), (512, vec![512]), (513, vec![512, 1]), (1024, vec![512, 512])]
    {
        let records: Vec<_> =
            (0..count).map(|n| record(n, AuditEntry::Call(call_record(n)))).collect();
        let found: Vec<_> = export(&records).iter().map(|it| log_records(it).len()).collect();
        assert_eq!(found, sizes, "{count} records");
    }
}

/// A full batch is written at once, and the rest and the buffer of the output at the end.
#[test]
fn failed_output_is_reported() {
    struct FullOutput {
        left: usize,
        fails_flush: bool,
    }
    impl std::io::Write for FullOutput {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.left == 0 {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            let written = bytes.len().min(self.left);
            self.left -= written;
            Ok(written)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            if self.fails_flush { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }
    let records: Vec<_> = (0..512).map(|n| record(n, AuditEntry::Call(call_record(n)))).collect();
    let mut writer = OtlpWriter::new(FullOutput { left: 100, fails_flush: false }, "1");
    records[..511].iter().for_each(|record| writer.add_record(record).unwrap());
    writer.add_record(&records[511]).unwrap_err();
    let mut writer = OtlpWriter::new(FullOutput { left: 100, fails_flush: false }, "1");
    writer.add_record(&records[0]).unwrap();
    writer.finish().unwrap_err();
    let mut writer = OtlpWriter::new(FullOutput { left: 1 << 20, fails_flush: true }, "1");
    writer.add_record(&records[0]).unwrap();
    writer.finish().unwrap_err();
}

#[test]
fn log_is_exported_as_it_was_written() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 2);
    let records: Vec<_> = audit::read_records(&log).unwrap().map(Result::unwrap).collect();
    let requests = export(&records);
    let bodies: Vec<_> = summarize(&requests[0]).iter().map(|(.., body)| *body).collect();
    assert_eq!(bodies, ["audit log event chain", "hello by alice", "hello by alice"]);
    let times: Vec<_> = log_records(&requests[0])[1..]
        .iter()
        .map(|log| (log["timeUnixNano"].clone(), log["observedTimeUnixNano"].clone()))
        .collect();
    let time = |n: u64| json!(call_record(n).time.as_nanosecond().to_string());
    assert_eq!(times, [(time(1), time(1)), (time(2), time(2))]);
}
