//! Tests forks on remote chains in memory, as a contract that calls cheat codes observes them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256, address, hex, keccak256};
use proptest::prelude::*;

use super::super::remote::{
    ForkAccess, RemoteAccount, RemoteBlock, RemoteChains, RemoteError, RemoteState,
};
use super::super::{
    CHEATCODE_ADDRESS, CallLimits, ChainSetup, ChainState, CompiledCodeIndex, EvmMachine,
    EvmTransaction, NotRunReason, TransactionOutcome,
};

const LIMITS: CallLimits = CallLimits { gas: 12_500_000, time: Duration::from_secs(60) };
const SENDER: Address = address!("0x0000000000000000000000000000000000010000");
/// The persistent contract that calls cheat codes: it forwards calldata after an address to that address.
const CALLER: Address = address!("0x00000000000000000000000000000000000000a1");
const FORWARD: [u8; 42] =
    hex!("602036038060206000376000600091600060006000355af13d600060003e3d60009160275790fd5b90f3");
/// Like the caller, but ignores that the call reverted.
const CATCHER: Address = address!("0x00000000000000000000000000000000000000a2");
/// Like the caller, but always reverts.
const REVERTER: Address = address!("0x00000000000000000000000000000000000000a3");
/// An account of the remote chains.
const REMOTE: Address = address!("0x00000000000000000000000000000000000000b1");

/// A chain where each slot of [`REMOTE`] holds its own number plus the chain id.
#[derive(Debug)]
struct TestChain {
    id: u64,
    block: RemoteBlock,
    requests: Arc<AtomicUsize>,
    fails: Arc<AtomicBool>,
}

impl TestChain {
    fn answer<T>(&self, value: T) -> Result<T, RemoteError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        match self.fails.load(Ordering::SeqCst) {
            true => Err(RemoteError::new("node test is unreachable")),
            false => Ok(value),
        }
    }
}

impl RemoteState for TestChain {
    fn endpoint(&self) -> &str {
        "test"
    }

    fn chain_id(&self) -> u64 {
        self.id
    }

    fn block(&self) -> &RemoteBlock {
        &self.block
    }

    fn account(&self, address: Address) -> Result<RemoteAccount, RemoteError> {
        let remote = RemoteAccount {
            balance: U256::from(self.id * 100 + self.block.number),
            nonce: 1,
            code: hex!("6001").into(),
        };
        self.answer(if address == REMOTE { remote } else { RemoteAccount::default() })
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, RemoteError> {
        let value = slot + U256::from(self.id);
        self.answer(if address == REMOTE { value } else { U256::ZERO })
    }

    fn block_hash(&self, number: u64) -> Result<B256, RemoteError> {
        self.answer(B256::from(U256::from(number)))
    }

    fn at_block(&self, number: u64) -> Result<Arc<dyn RemoteState>, RemoteError> {
        let block = RemoteBlock { number, ..self.block.clone() };
        let (requests, fails) = (Arc::clone(&self.requests), Arc::clone(&self.fails));
        Ok(Arc::new(Self { id: self.id, block, requests, fails }))
    }

    fn save(&self) {}
}

/// Opens chain 1 as `one` and so on. The chain `broken` cannot be read.
#[derive(Debug, Default)]
struct TestChains {
    requests: Arc<AtomicUsize>,
    fails: Arc<AtomicBool>,
}

impl RemoteChains for TestChains {
    fn open(
        &self,
        endpoint: &str,
        block: Option<u64>,
    ) -> Result<Arc<dyn RemoteState>, RemoteError> {
        let id = match endpoint {
            "one" => 1,
            "two" => 2,
            "broken" => 3,
            _ => return Err(RemoteError::new("unknown endpoint")),
        };
        let number = block.unwrap_or(50);
        let block = RemoteBlock { number, timestamp: 1_000 * id, ..RemoteBlock::default() };
        let fails = match id {
            3 => Arc::new(AtomicBool::new(true)),
            _ => Arc::clone(&self.fails),
        };
        Ok(Arc::new(TestChain { id, block, requests: Arc::clone(&self.requests), fails }))
    }

    fn names(&self) -> Vec<String> {
        vec!["one".to_owned(), "two".to_owned()]
    }
}

/// Returns a machine with the contracts, on a fork of `base` if given.
fn machine(chains: &Arc<TestChains>, base: Option<&str>) -> EvmMachine {
    let setup = ChainSetup {
        timestamp: 7,
        block: 8,
        chain_id: 9,
        code_size: usize::MAX,
        cheats: true,
        ffi: false,
        ffi_path: None,
    };
    let base = base.map(|name| chains.open(name, None).unwrap());
    let access = ForkAccess { base, chains: Some(Arc::clone(chains) as _) };
    let persistent = BTreeSet::from([CALLER, CATCHER, REVERTER, SENDER]);
    let state = ChainState::new(&setup).with_forks(&access, persistent);
    let codes = Arc::new(CompiledCodeIndex::default());
    let mut machine = EvmMachine::new(state, codes, Vec::new(), LIMITS);
    machine.set_code(CALLER, FORWARD.into());
    // The jump is taken always, or never.
    let (mut catcher, mut reverter) = (FORWARD, FORWARD);
    (catcher[0x25], catcher[0x26]) = (0x90, 0xf3);
    (reverter[0x28], reverter[0x29]) = (0x90, 0xfd);
    machine.set_code(CATCHER, catcher.into());
    machine.set_code(REVERTER, reverter.into());
    machine
}

fn forward(to: Address, data: &[u8]) -> Vec<u8> {
    [to.into_word().as_slice(), data].concat()
}

fn send(machine: &mut EvmMachine, to: Address, data: Vec<u8>) -> TransactionOutcome {
    let data = Bytes::from(data);
    machine.call(&EvmTransaction { from: SENDER, to, value: U256::ZERO, gas_price: 0, data })
}

/// Encodes a cheat code with words as arguments.
fn cheat(signature: &str, words: &[U256]) -> Vec<u8> {
    let words = words.iter().flat_map(|word| word.to_be_bytes::<32>());
    keccak256(signature)[..4].iter().copied().chain(words).collect()
}

/// Encodes a cheat code with a text, and perhaps a number.
fn cheat_with_text(signature: &str, text: &str, number: Option<u64>) -> Vec<u8> {
    let offset = U256::from(32 * (1 + number.iter().len()));
    let mut words = vec![offset];
    words.extend(number.map(U256::from));
    words.push(U256::from(text.len()));
    let mut padded = [0; 32];
    padded[..text.len()].copy_from_slice(text.as_bytes());
    words.push(U256::from_be_bytes(padded));
    cheat(signature, &words)
}

fn create(name: &str) -> Vec<u8> {
    cheat_with_text("createFork(string)", name, None)
}

fn select(fork: u64) -> Vec<u8> {
    cheat("selectFork(uint256)", &[U256::from(fork)])
}

/// Calls a cheat code from the contract, and returns the word that it returned.
#[track_caller]
fn run(machine: &mut EvmMachine, data: Vec<u8>) -> U256 {
    let outcome = send(machine, CALLER, forward(CHEATCODE_ADDRESS, &data));
    assert!(outcome.is_success(), "{outcome:?}");
    outcome.output.get(..32).map_or(U256::ZERO, U256::from_be_slice)
}

fn word(address: Address) -> U256 {
    address.into_word().into()
}

fn load(machine: &mut EvmMachine, address: Address, slot: u64) -> U256 {
    run(machine, cheat("load(address,bytes32)", &[word(address), U256::from(slot)]))
}

fn store(machine: &mut EvmMachine, address: Address, slot: u64, value: u64) {
    let words = [word(address), U256::from(slot), U256::from(value)];
    run(machine, cheat("store(address,bytes32,bytes32)", &words));
}

/// Returns what contracts can observe.
fn observe(machine: &mut EvmMachine) -> String {
    let mark = machine.checkpoint();
    let active = send(machine, CALLER, forward(CHEATCODE_ADDRESS, &cheat("activeFork()", &[])));
    let active = active.is_success().then(|| U256::from_be_slice(&active.output));
    let slots: Vec<_> = [(REMOTE, 4), (REMOTE, 5), (CALLER, 4), (CALLER, 5)]
        .map(|(address, slot)| load(machine, address, slot))
        .into();
    let chain_id = machine.chain_id();
    let text = format!(
        "fork {active:?} chain {chain_id} {:?} slots {slots:?} balances {} {}",
        machine.now(),
        machine.balance(REMOTE),
        machine.balance(CALLER)
    );
    machine.rewind(&mark);
    text
}

#[test]
fn base_fork_has_the_state_of_its_block() {
    let chains = Arc::new(TestChains::default());
    let mut machine = machine(&chains, Some("one"));
    assert_eq!(
        observe(&mut machine),
        "fork Some(0) chain 1 (1000, 50) slots [5, 6, 0, 0] balances 150 0"
    );
    let requests = chains.requests.load(Ordering::SeqCst);
    let mark = machine.checkpoint();
    store(&mut machine, REMOTE, 4, 70);
    assert_eq!(load(&mut machine, REMOTE, 4), U256::from(70));
    machine.rewind(&mark);
    assert_eq!(load(&mut machine, REMOTE, 4), U256::from(5));
    assert_eq!(chains.requests.load(Ordering::SeqCst), requests, "nothing is fetched twice");
    let copy = machine.copy_state();
    assert_eq!(copy.forks().len(), 1);
}

#[test]
fn forks_have_own_state_except_persistent_accounts() {
    let chains = Arc::new(TestChains::default());
    let mut machine = machine(&chains, None);
    let before = observe(&mut machine);
    let start = machine.checkpoint();
    run(&mut machine, create("one"));
    run(&mut machine, create("two"));
    store(&mut machine, CALLER, 4, 11);
    run(&mut machine, select(0));
    store(&mut machine, REMOTE, 4, 70);
    run(&mut machine, select(1));
    insta::assert_snapshot!(observe(&mut machine), @"fork Some(1) chain 2 (2000, 50) slots [6, 7, 11, 0] balances 250 0");
    store(&mut machine, CALLER, 5, 12);
    run(&mut machine, select(0));
    insta::assert_snapshot!(observe(&mut machine), @"fork Some(0) chain 1 (1000, 50) slots [70, 6, 11, 12] balances 150 0");
    run(&mut machine, cheat("rollFork(uint256)", &[U256::from(60)]));
    insta::assert_snapshot!(observe(&mut machine), @"fork Some(0) chain 1 (1000, 60) slots [5, 6, 11, 12] balances 160 0");
    machine.rewind(&start);
    assert_eq!(observe(&mut machine), before);
}

#[test]
fn result_of_an_undone_nested_selection_is_unknown() {
    let chains = Arc::new(TestChains::default());
    let mut machine = machine(&chains, Some("one"));
    run(&mut machine, create("two"));
    let before = observe(&mut machine);
    let nested = forward(REVERTER, &forward(CHEATCODE_ADDRESS, &select(1)));
    let outcome = send(&mut machine, CATCHER, nested);
    let reason = outcome.not_run_reason().map(ToString::to_string).unwrap_or_default();
    assert!(outcome.is_discarded() && reason.contains("selected a fork was reverted"), "{reason}");
    assert_eq!(observe(&mut machine), before);
    // As the outermost call, it is an ordinary revert.
    let outcome = send(&mut machine, REVERTER, forward(CHEATCODE_ADDRESS, &select(1)));
    assert!(outcome.is_revert() && !outcome.is_discarded());
    assert_eq!(observe(&mut machine), before);
}

#[test]
fn failed_fetch_makes_the_result_unknown() {
    let chains = Arc::new(TestChains::default());
    let mut machine = machine(&chains, Some("one"));
    load(&mut machine, REMOTE, 4);
    let before = machine.checkpoint();
    chains.fails.store(true, Ordering::SeqCst);
    assert_eq!(load(&mut machine, REMOTE, 4), U256::from(5), "known state needs no fetch");
    let read = cheat("load(address,bytes32)", &[word(REMOTE), U256::from(9)]);
    let outcome = send(&mut machine, CATCHER, forward(CHEATCODE_ADDRESS, &read));
    let expected = NotRunReason::ForkUnavailable("node test is unreachable".to_owned());
    assert_eq!(outcome.not_run_reason(), Some(&expected));
    assert!(outcome.is_discarded() && !outcome.breaks_assertion());
    // The journal holds a wrong value now, so that no later result counts either.
    machine.rewind(&before);
    chains.fails.store(false, Ordering::SeqCst);
    assert!(machine.fork_failure().is_some());
    let read = cheat("load(address,bytes32)", &[word(REMOTE), U256::from(4)]);
    assert!(send(&mut machine, CALLER, forward(CHEATCODE_ADDRESS, &read)).is_discarded());
}

#[test]
fn rewinding_forgets_a_fork_that_failed() {
    let chains = Arc::new(TestChains::default());
    let mut machine = machine(&chains, Some("one"));
    let before = observe(&mut machine);
    let mark = machine.checkpoint();
    run(&mut machine, cheat_with_text("createSelectFork(string)", "broken", None));
    let read = cheat("load(address,bytes32)", &[word(REMOTE), U256::from(4)]);
    let outcome = send(&mut machine, CALLER, forward(CHEATCODE_ADDRESS, &read));
    let reason = outcome.not_run_reason();
    assert!(matches!(reason, Some(NotRunReason::ForkUnavailable(_))), "{outcome:?}");
    assert!(machine.fork_failure().is_some(), "the fork is still active");
    machine.rewind(&mark);
    assert_eq!(machine.fork_failure(), None, "the chain itself is known");
    assert_eq!(observe(&mut machine), before);
}

#[test]
fn cheat_codes_of_forks_need_permission() {
    let setup = ChainSetup {
        timestamp: 7,
        block: 8,
        chain_id: 9,
        code_size: usize::MAX,
        cheats: true,
        ffi: false,
        ffi_path: None,
    };
    let codes = Arc::new(CompiledCodeIndex::default());
    let mut machine = EvmMachine::new(ChainState::new(&setup), codes, Vec::new(), LIMITS);
    machine.set_code(CALLER, FORWARD.into());
    for data in [create("one"), cheat_with_text("rpcUrl(string)", "one", None)] {
        let outcome = send(&mut machine, CALLER, forward(CHEATCODE_ADDRESS, &data));
        let reason = outcome.not_run_reason().map(ToString::to_string).unwrap_or_default();
        assert!(reason.contains("run `vouch trust`"), "{reason}");
    }
}

/// A step of a random sequence.
#[derive(Clone, Debug)]
enum Step {
    Create(bool),
    Select(u64),
    Roll(u64),
    Store(bool, u64, u64),
    Deal(u64),
    Persist(bool),
    Wait,
    Mark,
    Rewind(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<bool>().prop_map(Step::Create),
        (0_u64..4).prop_map(Step::Select),
        (0_u64..4).prop_map(Step::Select),
        (40_u64..60).prop_map(Step::Roll),
        (any::<bool>(), 4_u64..6, 0_u64..99)
            .prop_map(|(own, slot, value)| Step::Store(own, slot, value)),
        (0_u64..99).prop_map(Step::Deal),
        any::<bool>().prop_map(Step::Persist),
        Just(Step::Wait),
        Just(Step::Mark),
        (0_usize..9).prop_map(Step::Rewind),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rewinding_restores_what_contracts_observe(steps in prop::collection::vec(any_step(), 1..40), is_fork: bool) {
        let chains = Arc::new(TestChains::default());
        let mut machine = machine(&chains, is_fork.then_some("one"));
        let mut marks = vec![(machine.checkpoint(), observe(&mut machine))];
        for step in steps {
            let data = match step {
                Step::Create(is_one) => create(if is_one { "one" } else { "two" }),
                Step::Select(fork) => select(fork),
                Step::Roll(number) => cheat("rollFork(uint256)", &[U256::from(number)]),
                Step::Store(is_own, slot, value) => {
                    let at = word(if is_own { CALLER } else { REMOTE });
                    cheat("store(address,bytes32,bytes32)", &[at, U256::from(slot), U256::from(value)])
                }
                Step::Deal(value) => cheat("deal(address,uint256)", &[word(CALLER), U256::from(value)]),
                Step::Persist(true) => cheat("makePersistent(address)", &[word(REMOTE)]),
                Step::Persist(false) => cheat("revokePersistent(address)", &[word(REMOTE)]),
                Step::Wait => {
                    machine.advance_time(3, 1);
                    continue;
                }
                Step::Mark => {
                    let mark = machine.checkpoint();
                    marks.push((mark, observe(&mut machine)));
                    continue;
                }
                Step::Rewind(index) => {
                    marks.truncate(1 + index % marks.len());
                    let (mark, seen) = marks.last().unwrap();
                    machine.rewind(mark);
                    prop_assert_eq!(&observe(&mut machine), seen);
                    continue;
                }
            };
            // Some fail, such as the selection of an unknown fork.
            send(&mut machine, CALLER, forward(CHEATCODE_ADDRESS, &data));
        }
    }
}
