//! Tests against nodes on loopback that answer from a script, also in hostile ways.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use alloy_primitives::{Address, B256, U256, address};
use fuzz::chain::{RemoteChains, RemoteState};
use remote_chain::{PinnedBlock, RpcChains, RpcLimits, RpcOptions, RpcUrl};
use serde_json::{Value, json};

const ACCOUNT: Address = address!("0x00000000000000000000000000000000000000a1");
const SECRET: &str = "s3cr3t";

type Answer = dyn Fn(&Value) -> String + Send + Sync;

/// A node that answers each request with a whole HTTP response.
struct ScriptedNode {
    port: u16,
    requests: Arc<AtomicUsize>,
    answer: Arc<Mutex<Arc<Answer>>>,
}

impl ScriptedNode {
    fn start(answer: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(AtomicUsize::new(0));
        let answer: Arc<Mutex<Arc<Answer>>> = Arc::new(Mutex::new(Arc::new(answer)));
        let (count, current) = (Arc::clone(&requests), Arc::clone(&answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (count, current) = (Arc::clone(&count), Arc::clone(&current));
                thread::spawn(move || serve(stream, &count, &current));
            }
        });
        Self { port, requests, answer }
    }

    /// Starts a node that behaves.
    fn start_good() -> Self {
        Self::start(|request| respond(&answer_well(request)))
    }

    fn set_answer(&self, answer: impl Fn(&Value) -> String + Send + Sync + 'static) {
        *self.answer.lock().unwrap() = Arc::new(answer);
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    fn url(&self) -> RpcUrl {
        RpcUrl::parse(&format!("http://127.0.0.1:{}/{SECRET}", self.port)).unwrap()
    }
}

/// Serves one connection, one request after the other. A response without a header of the usual form ends it.
fn serve(stream: TcpStream, count: &AtomicUsize, current: &Mutex<Arc<Answer>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        count.fetch_add(1, Ordering::SeqCst);
        let answer = Arc::clone(&current.lock().unwrap());
        let response = answer(&serde_json::from_slice(&body).unwrap());
        if stream.write_all(response.as_bytes()).is_err() || !response.contains("Content-Length: ")
        {
            return;
        }
    }
}

fn respond(body: &Value) -> String {
    respond_with("200 OK", "", &body.to_string())
}

fn respond_with(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// Answers single calls and batches.
fn answer_well(request: &Value) -> Value {
    match request {
        Value::Array(calls) => calls.iter().map(answer_well).collect(),
        call => json!({"jsonrpc": "2.0", "id": call["id"], "result": result_of(call)}),
    }
}

fn result_of(call: &Value) -> Value {
    match call["method"].as_str().unwrap() {
        "eth_chainId" => json!("0x2a"),
        "eth_getBlockByNumber" => {
            let number = match call["params"][0].as_str().unwrap() {
                "latest" => "0x64",
                number => number,
            };
            block(number, 7)
        }
        "eth_getBalance" => json!("0x5"),
        "eth_getTransactionCount" => json!("0x1"),
        "eth_getCode" => json!("0x6001"),
        "eth_getStorageAt" => json!(B256::with_last_byte(9)),
        method => panic!("unexpected {method}"),
    }
}

fn block(number: &str, hash: u8) -> Value {
    json!({"number": number, "hash": B256::repeat_byte(hash), "timestamp": "0x10", "baseFeePerGas": "0x7",
        "gasLimit": "0x1c9c380", "miner": ACCOUNT, "mixHash": B256::repeat_byte(3), "transactions": []})
}

fn limits() -> RpcLimits {
    RpcLimits {
        request_time: Duration::from_secs(20),
        attempt_time: Duration::from_secs(10),
        attempts: 3,
        first_wait: Duration::from_millis(1),
        response_bytes: 1 << 16,
        total_bytes: 1 << 20,
    }
}

fn chains(cache: Option<&Path>, limits: RpcLimits) -> RpcChains {
    RpcChains::new(RpcOptions {
        cache: cache.map(Path::to_owned),
        disk: disk::system_disk(),
        endpoints: BTreeMap::new(),
        pins: BTreeMap::new(),
        limits,
    })
}

fn read_all(state: &dyn RemoteState) -> String {
    let account = state.account(ACCOUNT).map_err(|error| error.to_string());
    let slot = state.storage(ACCOUNT, U256::from(3)).map_err(|error| error.to_string());
    let hash = state.block_hash(99).map_err(|error| error.to_string());
    format!("{account:?} {slot:?} {hash:?}")
}

/// Opens the latest block of a node that answers with this, and returns the error.
#[track_caller]
fn check_refused(answer: impl Fn(&Value) -> String + Send + Sync + 'static) -> String {
    let node = ScriptedNode::start(answer);
    let error = chains(None, limits()).open_url(&node.url(), None).unwrap_err().to_string();
    let plain = error.replace(&format!("127.0.0.1:{}", node.port), "HOST");
    assert!(!plain.contains(SECRET), "{plain}");
    plain
}

#[test]
fn state_is_fetched_once_and_kept_for_later_runs() {
    let (node, folder) = (ScriptedNode::start_good(), tempfile::tempdir().unwrap());
    let first = chains(Some(folder.path()), limits()).open_url(&node.url(), None).unwrap();
    assert_eq!((first.chain_id(), first.block().number), (42, 100));
    let (values, count) = (read_all(&*first), node.requests());
    assert_eq!(count, 4, "one for the block, three for the values");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(read_all(&*first), values));
        }
    });
    assert_eq!(node.requests(), count);
    first.save();
    let url = node.url();
    // A node that is not running.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    drop(first);
    node.set_answer(|_| String::new());
    let again = chains(Some(folder.path()), limits());
    let failed = again.open_url(&url, Some(100)).unwrap_err().to_string();
    assert!(failed.contains("closed the connection"), "a running node is asked: {failed}");
    let other = RpcUrl::parse(&format!("http://127.0.0.1:{gone}/{SECRET}")).unwrap();
    assert!(again.open_url(&other, Some(100)).is_err(), "the cache is by endpoint");
    node.set_answer(|request| respond(&answer_well(request)));
    let before = node.requests();
    let third = chains(Some(folder.path()), limits()).open_url(&url, Some(100)).unwrap();
    assert_eq!(read_all(&*third), values);
    assert_eq!(node.requests(), before + 1, "only the block is compared");
}

#[test]
fn concurrent_readers_share_one_request() {
    let node = ScriptedNode::start_good();
    let state = chains(None, limits()).open_url(&node.url(), None).unwrap();
    let before = node.requests();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(state.storage(ACCOUNT, U256::ZERO), Ok(U256::from(9))));
        }
    });
    assert_eq!(node.requests(), before + 1);
}

#[test]
fn damaged_cache_files_are_fetched_again() {
    let (node, folder) = (ScriptedNode::start_good(), tempfile::tempdir().unwrap());
    let open = || {
        let chains = chains(Some(folder.path()), limits());
        let state = chains.open_url(&node.url(), Some(100)).unwrap();
        let values = read_all(&*state);
        state.save();
        (values, chains.take_warnings())
    };
    let (values, warnings) = open();
    assert_eq!(warnings, [""; 0]);
    let mut files = Vec::new();
    for folder in block_folders(folder.path()) {
        files.extend(fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()));
    }
    files.sort();
    assert_eq!(files.len(), 2, "the header and the values: {files:?}");
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        for damage in [text.replace('9', "8"), text[..text.len() / 2].to_owned(), String::new()] {
            fs::write(file, damage).unwrap();
            let before = node.requests();
            let (again, warnings) = open();
            assert_eq!(again, values);
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(node.requests() > before);
        }
    }
}

/// Returns the folders of all cached blocks, sorted.
fn block_folders(cache: &Path) -> Vec<PathBuf> {
    let list = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let folders = list(cache.join("forks")).flat_map(list).filter(|it| it.is_dir());
    let mut folders: Vec<_> = folders.collect();
    folders.sort();
    folders
}

/// A hostile node knows the public hash of a block, and answers with values of its own.
#[test]
fn values_of_one_endpoint_are_not_used_for_another() {
    let (wrong, good) = (ScriptedNode::start_good(), ScriptedNode::start_good());
    wrong.set_answer(|request| {
        respond_with("200 OK", "", &answer_well(request).to_string().replace("\"0x5\"", "\"0x6\""))
    });
    let folder = tempfile::tempdir().unwrap();
    let balance = |url: &RpcUrl| {
        let state = chains(Some(folder.path()), limits()).open_url(url, Some(100)).unwrap();
        let account = state.account(ACCOUNT).unwrap();
        state.save();
        account.balance
    };
    assert_eq!(balance(&wrong.url()), U256::from(6));
    assert_eq!(balance(&good.url()), U256::from(5));
    // The same host with another key is another endpoint.
    let keyed = RpcUrl::parse(&format!("http://127.0.0.1:{}/other", wrong.port)).unwrap();
    let before = wrong.requests();
    assert_eq!(balance(&keyed), U256::from(6));
    assert_eq!(wrong.requests(), before + 2, "block and account are fetched");
    let files = block_folders(folder.path());
    assert_eq!(files.len(), 3, "{files:?}");
    assert!(!files.iter().any(|path| path.to_string_lossy().contains(SECRET)), "{files:?}");
}

#[test]
fn file_of_another_block_is_not_used() {
    let (node, folder) = (ScriptedNode::start_good(), tempfile::tempdir().unwrap());
    let open = |block: u64| {
        let chains = chains(Some(folder.path()), limits());
        let state = chains.open_url(&node.url(), Some(block)).unwrap();
        state.account(ACCOUNT).unwrap();
        state.save();
        chains.take_warnings()
    };
    assert_eq!((open(100), open(99)), (Vec::new(), Vec::new()));
    let folders = block_folders(folder.path());
    let [from, to] = folders.as_slice() else { panic!("{folders:?}") };
    let is_values = |path: &PathBuf| path.extension().is_some_and(|it| it == "jsonl");
    let list = |folder| fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let [from, to] = [from, to].map(|folder| list(folder).find(is_values).unwrap());
    fs::copy(from, to).unwrap();
    let warnings: Vec<_> = [open(100), open(99)].concat();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn cached_state_is_never_mixed_with_another_chain() {
    let (node, folder) = (ScriptedNode::start_good(), tempfile::tempdir().unwrap());
    let state = chains(Some(folder.path()), limits()).open_url(&node.url(), Some(100)).unwrap();
    state.account(ACCOUNT).unwrap();
    state.save();
    // The node has another block with this number.
    node.set_answer(|request| {
        let text = answer_well(request).to_string();
        respond_with("200 OK", "", &text.replace("0707", "0808"))
    });
    let other = chains(Some(folder.path()), limits()).open_url(&node.url(), Some(100)).unwrap();
    assert_ne!(other.block().hash, state.block().hash);
    let before = node.requests();
    other.account(ACCOUNT).unwrap();
    assert_eq!(node.requests(), before + 1, "nothing of the first chain is used");
}

#[test]
fn latest_block_of_an_earlier_run_must_be_the_same() {
    let node = ScriptedNode::start_good();
    let open = |hash: u8| {
        let pin = PinnedBlock { chain_id: 42, block: 90, block_hash: B256::repeat_byte(hash) };
        let chains = RpcChains::new(RpcOptions {
            cache: None,
            disk: disk::system_disk(),
            endpoints: BTreeMap::new(),
            pins: BTreeMap::from([(node.url().label(), pin)]),
            limits: limits(),
        });
        chains.open_url(&node.url(), None).map(|state| state.block().number)
    };
    assert_eq!(open(7), Ok(90));
    let error = open(8).unwrap_err().to_string();
    assert!(error.contains("has another block 90 than the earlier run"), "{error}");
}

#[test]
fn names_are_resolved_or_refused() {
    let node = ScriptedNode::start_good();
    let chains = RpcChains::new(RpcOptions {
        cache: None,
        disk: disk::system_disk(),
        endpoints: BTreeMap::from([
            ("good".to_owned(), Ok(node.url())),
            ("unset".to_owned(), Err("the variable KEY is not set".to_owned())),
        ]),
        pins: BTreeMap::new(),
        limits: limits(),
    });
    assert_eq!(chains.open("good", Some(5)).unwrap().block().number, 5);
    let error = |name: &str| chains.open(name, None).unwrap_err().to_string();
    insta::assert_snapshot!([error("unset"), error("goood"), error("ws://h/key")].join("\n"), @r"
    endpoint `unset` has no URL: the variable KEY is not set
    unknown endpoint `goood`; add it to [rpc_endpoints] in foundry.toml
    invalid URL of a node: only http:// and https:// are supported
    ");
}

#[test]
fn failures_that_may_pass_are_retried() {
    let node = ScriptedNode::start(|_| respond_with("503 Busy", "", ""));
    let count = Arc::new(AtomicUsize::new(0));
    node.set_answer(move |request| match count.fetch_add(1, Ordering::SeqCst) % 3 {
        0 => respond_with("429 Slow", "Retry-After: 0\r\n", ""),
        1 => respond(&json!({"id": 0, "error": {"code": -32005, "message": "limit"}})),
        _ => respond(&answer_well(request)),
    });
    // The second answer also looks like a node without batches, so that calls are sent one by one.
    let state = chains(None, limits()).open_url(&node.url(), None).unwrap();
    assert_eq!(state.storage(ACCOUNT, U256::ZERO), Ok(U256::from(9)));
}

#[test]
fn wait_that_a_node_asks_for_is_bounded() {
    let slow = |_: &Value| respond_with("429 Slow", "Retry-After: 3600\r\n", "");
    let error = check_refused(slow);
    assert_eq!(error, "node HOST limits the rate of requests (status 429), asks to wait 3600 s");
    // A wait in another notation, or a negative one, is not followed.
    let node = ScriptedNode::start(|_| String::new());
    node.set_answer(|_| {
        respond_with("429 Slow", "Retry-After: Wed, 21 Oct 2099 07:28:00 GMT\r\n", "")
    });
    let error = chains(None, limits()).open_url(&node.url(), None).unwrap_err().to_string();
    assert!(error.ends_with("limits the rate of requests (status 429)"), "{error}");
    assert_eq!(node.requests(), 3, "the attempts are bounded");
}

#[test]
fn state_is_asked_for_by_the_hash_of_the_block() {
    let node = ScriptedNode::start_good();
    let state = chains(None, limits()).open_url(&node.url(), None).unwrap();
    node.set_answer(|request| {
        let calls = request.as_array().cloned().unwrap_or_else(|| vec![request.clone()]);
        let names = calls.iter().filter_map(|call| call["params"].as_array()?.last().cloned());
        let hash = json!({"blockHash": B256::repeat_byte(7)});
        assert!(names.clone().all(|name| name == hash), "{request}");
        respond(&answer_well(request))
    });
    state.account(ACCOUNT).unwrap();
    state.storage(ACCOUNT, U256::ZERO).unwrap();
}

/// Answers like a node that knows blocks by number only.
fn answer_by_number(request: &Value) -> Value {
    match request {
        Value::Array(calls) => calls.iter().map(answer_by_number).collect(),
        call if call.to_string().contains("blockHash") => {
            let error =
                json!({"code": -32602, "message": "invalid argument 1: hex string expected"});
            json!({"jsonrpc": "2.0", "id": call["id"], "error": error})
        }
        call => answer_well(call),
    }
}

#[test]
fn reorganized_chain_is_an_error_and_not_another_state() {
    // A node that knows hashes has no state for one that it lost.
    let node = ScriptedNode::start_good();
    let state = chains(None, limits()).open_url(&node.url(), None).unwrap();
    node.set_answer(|request| {
        let error = json!({"code": -32000, "message": "block not found: hash 0x0707"});
        let fail = |call: &Value| match call.to_string().contains("blockHash") {
            true => json!({"id": call["id"], "error": error}),
            // Its other chain has state under this number.
            false => answer_well(call),
        };
        let text = match request {
            Value::Array(all) => Value::Array(all.iter().map(fail).collect()),
            call => fail(call),
        };
        respond_with("200 OK", "", &text.to_string().replace("0707", "0808"))
    });
    let lost = state.account(ACCOUNT).unwrap_err().to_string();
    assert!(lost.contains("no longer has block 100 with hash 0x0707"), "{lost}");

    // One that knows hashes in some methods is asked by number in the others.
    let node = ScriptedNode::start(|request| match request.to_string().contains("StorageAt") {
        true => respond(&answer_by_number(request)),
        false => respond(&answer_well(request)),
    });
    let state = chains(None, limits()).open_url(&node.url(), None).unwrap();
    assert_eq!(state.account(ACCOUNT).unwrap().nonce, 1);
    assert_eq!(state.storage(ACCOUNT, U256::ZERO), Ok(U256::from(9)));

    // A node that knows only numbers is asked for the block with each value.
    let node = ScriptedNode::start(|request| respond(&answer_by_number(request)));
    let state = chains(None, limits()).open_url(&node.url(), None).unwrap();
    assert_eq!(state.storage(ACCOUNT, U256::ZERO), Ok(U256::from(9)));
    assert_eq!(state.account(ACCOUNT).unwrap().nonce, 1);
    node.set_answer(|request| {
        let text = answer_by_number(request).to_string();
        respond_with("200 OK", "", &text.replace("0707", "0808"))
    });
    let lost = state.storage(ACCOUNT, U256::from(1)).unwrap_err().to_string();
    assert!(lost.contains("no longer has block 100 with hash 0x0707"), "{lost}");
}

#[test]
fn hash_of_an_ancestor_is_not_taken_from_another_chain() {
    let node = ScriptedNode::start_good();
    let state = chains(None, limits()).open_url(&node.url(), None).unwrap();
    node.set_answer(|request| {
        respond_with("200 OK", "", &answer_well(request).to_string().replace("0707", "0808"))
    });
    let lost = state.block_hash(99).unwrap_err().to_string();
    assert!(lost.contains("no longer has block 100"), "{lost}");
}

#[test]
fn missing_state_is_an_error_and_not_zero() {
    for result in [json!(null), json!(""), json!("0x"), json!(0), json!({})] {
        let node = ScriptedNode::start_good();
        let state = chains(None, limits()).open_url(&node.url(), None).unwrap();
        let shown = result.to_string();
        node.set_answer(move |request| {
            let fill = |call: &Value| json!({"id": call["id"], "result": result});
            respond(
                &request
                    .as_array()
                    .map_or_else(|| fill(request), |it| it.iter().map(fill).collect()),
            )
        });
        let error = state.storage(ACCOUNT, U256::ZERO).unwrap_err().to_string();
        assert!(error.ends_with("sent an invalid result of eth_getStorageAt"), "{shown}: {error}");
    }
}

#[test]
fn another_chain_at_the_same_endpoint_is_an_error() {
    let (node, folder) = (ScriptedNode::start_good(), tempfile::tempdir().unwrap());
    let state = chains(Some(folder.path()), limits()).open_url(&node.url(), Some(100)).unwrap();
    state.account(ACCOUNT).unwrap();
    state.save();
    node.set_answer(|request| {
        respond_with(
            "200 OK",
            "",
            &answer_well(request).to_string().replace("\"0x2a\"", "\"0x2b\""),
        )
    });
    let other = chains(Some(folder.path()), limits()).open_url(&node.url(), Some(100)).unwrap();
    assert_eq!(other.chain_id(), 43);
    let before = node.requests();
    other.account(ACCOUNT).unwrap();
    assert_eq!(node.requests(), before + 1, "nothing of the first chain is used");
}

#[test]
fn all_responses_together_are_bounded() {
    let node = ScriptedNode::start_good();
    let limits = RpcLimits { total_bytes: 3_000, ..limits() };
    let state = chains(None, limits).open_url(&node.url(), None).unwrap();
    let failed = (0..100).find_map(|slot| state.storage(ACCOUNT, U256::from(slot)).err());
    let error = failed.unwrap().to_string();
    assert!(error.ends_with("all responses are more than 3000 bytes"), "{error}");
}

#[test]
fn endless_and_packed_responses_are_refused() {
    let chunks = |count: usize| format!("1000\r\n{}\r\n", "x".repeat(0x1000)).repeat(count);
    let report = [
        // Chunks that go on and on.
        check_refused(move |_| {
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", chunks(100))
        }),
        // A packed body is not unpacked.
        check_refused(|_| respond_with("200 OK", "Content-Encoding: gzip\r\n", "\u{1f}packed")),
        check_refused(|_| format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(100_000))),
        check_refused(|_| respond_with("200 OK", "", &format!("[{}{{}}]", "{},".repeat(20_000)))),
    ];
    insta::assert_snapshot!(report.join("\n"), @r"
    node HOST sent a response of more than 65536 bytes
    node HOST sent a response that is not valid JSON-RPC
    node HOST closed the connection without a response
    node HOST sent a response that is not valid JSON-RPC
    ");
}

#[test]
fn first_failure_ends_all_requests() {
    let node = ScriptedNode::start_good();
    let state = chains(None, limits()).open_url(&node.url(), None).unwrap();
    state.storage(ACCOUNT, U256::ZERO).unwrap();
    node.set_answer(|_| respond_with("500 Broken", "", ""));
    let failed = state.storage(ACCOUNT, U256::from(1)).unwrap_err();
    let requests = node.requests();
    node.set_answer(|request| respond(&answer_well(request)));
    assert_eq!(state.account(ACCOUNT), Err(failed));
    assert_eq!(node.requests(), requests);
    assert_eq!(state.storage(ACCOUNT, U256::ZERO), Ok(U256::from(9)), "what is known stays known");
}

#[test]
fn node_without_old_state_is_explained() {
    let node = ScriptedNode::start_good();
    let state = chains(None, limits()).open_url(&node.url(), Some(5)).unwrap();
    node.set_answer(|request| {
        let error = json!({"code": -32000, "message": format!("missing trie node {SECRET}\n")});
        let fail = |call: &Value| json!({"id": call["id"], "error": error});
        respond(
            &request.as_array().map_or_else(|| fail(request), |all| all.iter().map(fail).collect()),
        )
    });
    let error = state.account(ACCOUNT).unwrap_err().to_string();
    let error = error.replace(&node.port.to_string(), "PORT");
    insta::assert_snapshot!(error, @"node 127.0.0.1:PORT failed to answer eth_getBalance: missing trie node … (code -32000); only an archive node has the state of block 5");
}

#[test]
fn invalid_answers_are_errors() {
    let replace = |method: &'static str, result: Value| {
        move |request: &Value| {
            let mut answers = answer_well(request);
            let calls = request.as_array().unwrap();
            for (call, answer) in calls.iter().zip(answers.as_array_mut().unwrap()) {
                if call["method"] == method {
                    answer["result"] = result.clone();
                }
            }
            respond(&answers)
        }
    };
    let report = [
        check_refused(|_| respond_with("302 Moved", "Location: http://127.0.0.1:1/\r\n", "")),
        check_refused(|_| respond_with("401 Denied", "", &format!("bad key {SECRET}"))),
        check_refused(|_| respond_with("200 OK", "", "<html>")),
        check_refused(|_| respond_with("200 OK", "", &"[".repeat(60_000))),
        check_refused(|_| respond_with("200 OK", "", &"x".repeat(70_000))),
        check_refused(|_| "HTTP/1.1 200 OK\r\nCONTENT-LENGTH: 10\r\n\r\n{".to_owned()),
        check_refused(|_| "nonsense\r\n\r\n".to_owned()),
        check_refused(replace("eth_chainId", json!("mainnet"))),
        check_refused(replace("eth_chainId", json!(1))),
        check_refused(replace("eth_chainId", json!("0x10000000000000000"))),
        check_refused(replace("eth_getBlockByNumber", json!(null))),
        check_refused(replace("eth_getBlockByNumber", json!({"number": "0x1"}))),
    ];
    insta::assert_snapshot!(report.join("\n"), @r"
    node HOST redirects (status 302); use the final URL
    node HOST refuses access (status 401); check the URL
    node HOST sent a response that is not valid JSON-RPC
    node HOST sent a response that is not valid JSON-RPC
    node HOST sent a response of more than 65536 bytes
    node HOST closed the connection mid-response
    node HOST closed the connection without a response
    node HOST sent an invalid result of eth_chainId
    node HOST sent an invalid result of eth_chainId
    node HOST sent an invalid result of eth_chainId
    node HOST has no latest block (chain 42)
    node HOST sent an invalid result of eth_getBlockByNumber
    ");
}

#[test]
fn another_block_than_the_requested_one_is_refused() {
    let node = ScriptedNode::start(|request| {
        respond_with("200 OK", "", &answer_well(request).to_string().replace("\"0x5\"", "\"0x6\""))
    });
    let error = chains(None, limits()).open_url(&node.url(), Some(5)).unwrap_err().to_string();
    assert!(error.ends_with("sent block 6 instead of block 5"), "{error}");
}

#[test]
fn slow_answers_are_bounded_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Sends a byte now and then, and never ends.
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                // A client refuses what comes before its request.
                let mut request = [0; 4096];
                assert!(stream.read(&mut request).unwrap() > 0);
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
                let mut sent = stream.write_all(head.as_bytes());
                while sent.is_ok() {
                    thread::sleep(Duration::from_millis(20));
                    sent = stream.write_all(b" ");
                }
            });
        }
    });
    let url = RpcUrl::parse(&format!("http://127.0.0.1:{port}")).unwrap();
    let limits = RpcLimits {
        attempt_time: Duration::from_millis(200),
        request_time: Duration::from_millis(500),
        ..limits()
    };
    let error = chains(None, limits).open_url(&url, None).unwrap_err().to_string();
    assert!(error.ends_with("did not answer in time"), "{error}");
}
