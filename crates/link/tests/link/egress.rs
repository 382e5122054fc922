//! Servers that may reach listed hosts through the proxy of their supervisor.

use std::io::{Read, Write};
use std::net::TcpListener;

use link::{AllowedHost, Connection, NetworkAccess};
use serde_json::json;

use crate::jail::{Account, Jail, probe};
use crate::support::wait_until;

/// Starts a listener outside that answers `ping` with `pong`.
fn start_echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut ping = [0; 4];
                if stream.read_exact(&mut ping).is_ok() && &ping == b"ping" {
                    let _ = stream.write_all(b"pong");
                }
            });
        }
    });
    port
}

fn start(jail: &Jail, hosts: &[String]) -> std::sync::Arc<Connection> {
    let mut policy = jail.policy();
    let hosts = hosts.iter().map(|host| host.parse::<AllowedHost>().unwrap()).collect();
    policy.network = NetworkAccess::Hosts(hosts);
    jail.start(policy)
}

#[tokio::test]
async fn forwards_listed_hosts_only() {
    for account in Account::all() {
        let jail = Jail::new(account);
        let (echo, other) = (start_echo(), start_echo());
        let connection = start(&jail, &[format!("127.0.0.1:{echo}"), format!("localhost:{other}")]);
        let mut outcomes = Vec::new();
        for (method, target) in [
            ("CONNECT", format!("127.0.0.1:{echo}")),
            ("CONNECT", format!("127.0.0.1:{other}")),
            ("CONNECT", format!("localhost:{echo}")),
            ("CONNECT", format!("LOCALHOST.:{other}")),
            ("CONNECT", format!("127.1:{echo}")),
            ("CONNECT", format!("[::ffff:127.0.0.1]:{echo}")),
            ("CONNECT", "169.254.169.254:80".to_owned()),
            ("CONNECT", format!("127.0.0.1:{echo}@example.com:443")),
            ("CONNECT", "nonsense".to_owned()),
            ("GET", format!("http://127.0.0.1:{echo}/")),
            ("connect", format!("127.0.0.1:{echo}")),
        ] {
            let answer = probe(&connection, "proxy", json!([target, method])).await;
            outcomes.push(format!("{method} {target}: {answer}"));
        }
        // Programs that ignore the variables reach nothing.
        outcomes.push(format!("direct: {}", probe(&connection, "tcp", json!([echo])).await));
        outcomes.push(probe(&connection, "environ", json!([])).await);
        let text = outcomes
            .join("\n")
            .replace(&echo.to_string(), "ECHO")
            .replace(&other.to_string(), "OTHER");
        insta::assert_snapshot!("forwards_listed_hosts_only", text);
    }
}

#[tokio::test]
async fn survives_hostile_requests() {
    let jail = Jail::new(Account::Current);
    let echo = start_echo();
    let target = format!("127.0.0.1:{echo}");
    let connection = start(&jail, std::slice::from_ref(&target));
    for method in ["\0\0\0", "GET\r\n\r\nCONNECT", &"x".repeat(100_000), "CONNECT \u{e9}"] {
        probe(&connection, "proxy", json!([target, method])).await;
    }
    // More connections than the proxy serves at a time, and fewer than wait in its queue.
    assert_eq!(probe(&connection, "flood proxy", json!([100])).await, "refused some");
    wait_until("the proxy has noticed their ends", async || {
        probe(&connection, "proxy", json!([target])).await.ends_with("pong")
    })
    .await;
}
