//! Files that people and `vouch` itself write: configuration, pins, overlays, rules and the audit log.

use contract::{CallPolicy, Caller, PolicySubject};
use rules::{RuleDefinition, RuleEffect, RuleSubject, Rules};
use serde_json::{Map, Value, json};
use store::audit::AuditKeyLocation;

use crate::scratch::with_file;

pub(crate) fn parse_config_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(error) = app::config::check_config_text(text) {
        assert!(!error.to_string().is_empty());
    }
}

/// A lock file that parses is written and parsed again without a change.
pub(crate) fn parse_lock_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(pins) = admit::PinSet::parse(text) else { return };
    let written = pins.to_text();
    let again = admit::PinSet::parse(&written).expect("a written lock file parses");
    assert_eq!(again.to_text(), written);
}

pub(crate) fn parse_overlay(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    drop(admit::Overlay::parse(text));
}

/// A rule on calls and on results. The lines after the first are the arguments and the result that it is evaluated on.
pub(crate) fn compile_rule(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.splitn(2, '\n');
    let when = lines.next().unwrap_or_default();
    let value: Value =
        lines.next().and_then(|rest| serde_json::from_str(rest).ok()).unwrap_or_else(
            || json!({"path": "a/b.txt", "count": 3, "tags": ["x", "y"], "deep": {"n": null}}),
        );
    for on in [RuleSubject::Call, RuleSubject::Result] {
        let rule = RuleDefinition {
            name: "rule".to_owned(),
            effect: RuleEffect::Deny,
            on,
            tools: Vec::new(),
            when: when.to_owned(),
        };
        let Ok(rules) = Rules::compile(vec![rule]) else { continue };
        let (caller, annotations) = (Caller::new("stdio"), Map::new());
        let subject = PolicySubject {
            tool: "up__good",
            arguments: &value,
            caller: &caller,
            annotations: &annotations,
        };
        drop((rules.on_call(&subject), rules.on_result(&subject, &value)));
    }
}

/// A log without keys; `audit_log` has logs with keys.
pub(crate) fn read_audit_log(data: &[u8]) {
    with_file("audit.jsonl", data, |path| {
        if let Ok(records) = store::audit::read_records(path) {
            records.for_each(drop);
        }
        let keys = AuditKeyLocation::new(path.with_file_name("keys"));
        drop(store::audit::verify_log(path, &keys));
        drop(store::audit::read_last_records(path, 3));
    });
}
