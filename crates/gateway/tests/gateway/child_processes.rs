//! Tests child processes of the gateway: their sandbox, and that they end with the gateway.

use std::path::Path;

use insta::assert_snapshot;
use link::SandboxPolicy;
use serde_json::json;

use crate::harness::{GatewaySetup, ProjectFolder, TestGateway, structured_content, wait_until};

fn is_alive(pid: u64) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

async fn child_pids(rig: &TestGateway) -> Vec<u64> {
    let reply = rig.call("up__count", json!({})).await;
    let counts = structured_content(&reply);
    ["pid", "grandchild"].iter().filter_map(|name| counts[*name].as_u64()).collect()
}

#[tokio::test]
async fn children_and_grandchildren_end_with_gateway() {
    for args in [&["--grandchild"][..], &["--grandchild", "--stubborn"]] {
        let rig = GatewaySetup::new().with_child("up", args).start().await;
        let pids = child_pids(&rig).await;
        assert_eq!(pids.len(), 2);
        assert!(pids.iter().all(|pid| is_alive(*pid)));
        rig.close().await;
        wait_until("the processes to end", || !pids.iter().any(|pid| is_alive(*pid))).await;
    }
}

#[tokio::test]
async fn sandboxed_child_reaches_only_granted_resources() {
    let site = ProjectFolder::new();
    let closed = tempfile::tempdir().unwrap();
    let secret = closed.path().join("secret");
    std::fs::write(&secret, "s").unwrap();
    std::fs::write(site.path("open"), "o").unwrap();
    let mut program = site.adversary_program("up", &[]);
    let binary = Path::new(&program.command).parent().expect("a folder").to_owned();
    program.sandbox = SandboxPolicy::Landlock {
        read: vec![binary, site.path("")],
        write: vec![site.path("")],
        hidden: vec![],
        network: false,
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let rig = GatewaySetup::in_project(&site).with_program("up", program).start().await;
    let path = |name: &str| site.path(name).to_str().unwrap().to_owned();
    let mut results = Vec::new();
    for (action, tool, arguments) in [
        ("read inside", "up__read_path", json!({"path": path("open")})),
        ("read outside", "up__read_path", json!({"path": secret.to_str().unwrap()})),
        ("write inside", "up__write_path", json!({"path": path("new")})),
        ("write outside", "up__write_path", json!({"path": secret.to_str().unwrap()})),
        ("connect", "up__connect", json!({"address": address})),
    ] {
        results.push(format!("{action}: {}", structured_content(&rig.call(tool, arguments).await)));
    }
    let environment = rig.call("up__environment", json!({})).await;
    results.push(format!("environment: {}", structured_content(&environment)["variables"]));
    assert_snapshot!(results.join("\n"));
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "s");
    rig.close().await;
}
