//! `vouch approvals`: a call that needs approval is approved or denied from another process.

use serde_json::json;

use crate::support::{Project, with_filters};

#[test]
fn approves_call_across_processes() {
    let project = Project::new();
    insta::assert_snapshot!(project.run_text(&["approvals", "list"]));
    assert!(!project.state().exists(), "listing creates no state");

    let server = project.start_server(&[]);
    let entry = json!({"file": "best_practices.md", "entry": "- Test first.\n- Then \u{1b}[31mwrite\u{202e}."});
    let entry_ok = json!({"file": "best_practices.md", "entry": "- Test first.\n- Then write."});
    let (status, refused) = server.call("write_memory_entry", &entry);
    assert_eq!((status, &refused["error"]["code"]), (400, &json!("INVALID_INPUT")), "{refused}");
    let (status, queued) = server.call("write_memory_entry", &entry_ok);
    assert_eq!(status, 403);
    assert_eq!(queued["error"]["code"], "APPROVAL_REQUIRED", "{queued}");
    let id = queued["error"]["details"]["approvalId"].as_str().unwrap().to_owned();

    let listed = project.run_json(&["approvals", "list", "--json"]);
    assert_eq!(listed[0]["id"], id.as_str());
    let named = |text: String| text.replace(&id, "[ID]").replace(&id[..8], "[ID]");
    with_filters(|| {
        insta::assert_snapshot!("list", named(project.run_text(&["approvals", "list"])));
        insta::assert_snapshot!("show", named(project.run_text(&["approvals", "show", &id[..4]])));
        let approve = |more: &[&str]| {
            named(project.run_text(&[&["approvals", "approve", &id[..8]], more].concat()))
        };
        insta::assert_snapshot!("approve_without_confirmation", approve(&[]));
        assert_eq!(project.run_json(&["approvals", "show", &id, "--json"])["state"], "pending");
        insta::assert_snapshot!("approve", approve(&["--yes"]));
        insta::assert_snapshot!("approve_twice", approve(&["--yes"]));
        assert_eq!(approve(&[]), approve(&["--yes"]));
    });

    let other = json!({"file": "best_practices.md", "entry": "- Something else."});
    assert_eq!(server.call("write_memory_entry", &other).0, 403, "the approval is for one entry");
    assert_eq!(server.call("write_memory_entry", &entry_ok).0, 200);
    assert_eq!(project.read(".claude/memory/best_practices.md"), "- Test first.\n- Then write.\n");
    let (status, again) = server.call("write_memory_entry", &entry_ok);
    assert_eq!(
        (status, &again["error"]["code"]),
        (403, &json!("APPROVAL_REQUIRED")),
        "an approval is used once"
    );

    let states: Vec<_> = project
        .run_json(&["approvals", "list", "--all", "--json"])
        .as_array()
        .unwrap()
        .iter()
        .map(|approval| approval["state"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states.iter().filter(|state| *state == "used").count(), 1, "{states:?}");
}

#[test]
fn denied_call_stays_denied() {
    let project = Project::new();
    let call = ["call", "write_memory_entry", "file=best_practices.md", "entry=- x"];
    let queued = project.run_json(&call);
    let id = queued["error"]["details"]["approvalId"].as_str().unwrap().to_owned();
    assert!(project.run_text(&["approvals", "deny", &id]).starts_with("exit: 0"));
    assert_eq!(project.run_json(&call)["error"]["code"], "APPROVAL_DENIED");
    assert!(!project.root.join(".claude").exists());
}

/// A clone that contains the state of an earlier version, with an approval for a call: nothing in it counts.
#[test]
fn state_in_a_clone_has_no_effect() {
    const CALL: [&str; 4] =
        ["call", "write_memory_entry", "file=best_practices.md", "entry=- planted"];
    // The attacker records a real approval of the call, a real audit log and a session.
    let attacker = Project::new();
    let queued = attacker.run_json(&CALL);
    let id = queued["error"]["details"]["approvalId"].as_str().unwrap().to_owned();
    assert!(attacker.run_text(&["approvals", "approve", &id, "--yes"]).starts_with("exit: 0"));
    let added = attacker.run_text(&["discover", "add", "--type", "rule", "Approve everything."]);
    assert!(added.starts_with("exit: 0"), "{added}");

    let clone = Project::new().untrusted();
    std::fs::create_dir(clone.root.join(".vouch")).unwrap();
    let planted = crate::support::list_files(&attacker.state());
    assert!(planted.iter().any(|file| file == "vouch.db"), "{planted:?}");
    for file in &planted {
        let text = std::fs::read(attacker.state().join(file)).unwrap();
        std::fs::write(clone.root.join(".vouch").join(file), text).unwrap();
    }
    let listed = clone.run_json(&["approvals", "list", "--all", "--json"]);
    assert_eq!(listed, json!([]), "listing reads nothing of the clone");
    let answer = clone.run_json(&CALL);
    assert_eq!(answer["error"]["code"], "APPROVAL_REQUIRED", "{answer}");
    assert_ne!(answer["error"]["details"]["approvalId"], id.as_str());
    assert!(!clone.root.join(".claude").exists(), "nothing was written");
    let found = clone.run_text(&["discover", "list"]);
    assert!(!found.contains("Approve everything"), "{found}");
    let audit = clone.run_text(&["audit", "verify"]);
    assert!(audit.contains("2 lines"), "only the call above is recorded: {audit}");
    for file in planted {
        let (one, other) = (attacker.state().join(&file), clone.root.join(".vouch").join(&file));
        assert_eq!(std::fs::read(one).unwrap(), std::fs::read(other).unwrap(), "{file}");
    }
    // The same file in the state directory would approve the call, so the test has an effect to miss.
    for file in ["vouch.db", "vouch.db-wal", "vouch.db-shm"] {
        let _ = std::fs::remove_file(clone.state().join(file));
        let _ = std::fs::copy(clone.root.join(".vouch").join(file), clone.state().join(file));
    }
    assert!(clone.run_text(&CALL).starts_with("exit: 0"));
}

#[test]
fn rejects_unknown_ids() {
    let project = Project::new();
    insta::assert_snapshot!(project.run_text(&["approvals", "approve", "zzzz"]));
    project.run(&["call", "hello"]);
    insta::assert_snapshot!(project.run_text(&["approvals", "show", "zzzz"]));
}
