//! Children of the gateway: what they can reach, and that they end with it.

use std::path::Path;

use insta::assert_snapshot;
use link::Sandbox;
use serde_json::json;

use crate::rig::{Rig, Setup, Site, structured, until};

fn lives(pid: u64) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

async fn processes(rig: &Rig) -> Vec<u64> {
    let reply = rig.call("up__count", json!({})).await;
    let counts = structured(&reply);
    ["pid", "grandchild"].iter().filter_map(|name| counts[*name].as_u64()).collect()
}

#[tokio::test]
async fn children_and_their_children_end_with_the_gateway() {
    for args in [&["--grandchild"][..], &["--grandchild", "--stubborn"]] {
        let rig = Setup::new().child("up", args).start().await;
        let pids = processes(&rig).await;
        assert_eq!(pids.len(), 2);
        assert!(pids.iter().all(|pid| lives(*pid)));
        rig.close().await;
        until("the processes to be gone", || !pids.iter().any(|pid| lives(*pid))).await;
    }
}

#[tokio::test]
async fn a_fenced_child_reaches_only_what_it_is_granted() {
    let site = Site::new();
    let closed = tempfile::tempdir().unwrap();
    let secret = closed.path().join("secret");
    std::fs::write(&secret, "s").unwrap();
    std::fs::write(site.path("open"), "o").unwrap();
    let mut program = site.program("up", &[]);
    let binary = Path::new(&program.command).parent().expect("a folder").to_owned();
    program.sandbox = Sandbox::Landlock {
        read: vec![binary, site.path("")],
        write: vec![site.path("")],
        hidden: vec![],
        network: false,
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let rig = Setup::on(&site).program("up", program).start().await;
    let path = |name: &str| site.path(name).to_str().unwrap().to_owned();
    let mut told = Vec::new();
    for (what, tool, arguments) in [
        ("read inside", "up__read_path", json!({"path": path("open")})),
        ("read outside", "up__read_path", json!({"path": secret.to_str().unwrap()})),
        ("write inside", "up__write_path", json!({"path": path("new")})),
        ("write outside", "up__write_path", json!({"path": secret.to_str().unwrap()})),
        ("connect", "up__connect", json!({"address": address})),
    ] {
        told.push(format!("{what}: {}", structured(&rig.call(tool, arguments).await)));
    }
    let environment = rig.call("up__environment", json!({})).await;
    told.push(format!("environment: {}", structured(&environment)["variables"]));
    assert_snapshot!(told.join("\n"));
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "s");
    rig.close().await;
}
