// Campaigns on forks of anvil: the state is that of the node, a repetition needs no node, a node that fails never changes a
// verdict, and cheat codes for forks behave as under forge.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { findAnvil, startAnvil, startProxy } from '../support/anvil.mjs';
import { VOUCH } from '../support/vouch.mjs';
import { compile, createFolder, findForge, runProgram, writeFiles, writeSolcProgram } from './support.mjs';

const skip = !(findAnvil() && findForge()) && 'NOT CHECKED: npm has no anvil or forge for this platform';

/** Where the node has the counter, and values of its storage. */
const COUNTER = '0x00000000000000000000000000000000c0ffee00';
const LIMIT = 5_000_000;
/** The part of the URL that is a secret. */
const SECRET = 's3cr3t-key';

/** A contract that only the node has. */
const REMOTE = `// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

contract Counter {
    uint256 public count;
    uint256 public limit;
    mapping(address => uint256) public shares;

    function add(uint256 number) external {
        require(number < limit, "limit");
        count += number;
        shares[msg.sender] += number;
    }
}
`;

const TARGET = `// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

interface ICounter {
    function count() external view returns (uint256);
    function limit() external view returns (uint256);
    function shares(address account) external view returns (uint256);
    function add(uint256 number) external;
}

contract ForkTest {
    ICounter private constant counter = ICounter(address(uint160(${BigInt(COUNTER)})));
    uint256 private immutable first = block.number;
    bytes32 private immutable before = blockhash(block.number - 1);

    function add(uint256 number) external {
        counter.add(number);
    }

    function look(address account) external view returns (uint256, uint256) {
        return (counter.shares(account), account.balance);
    }

    function echidna_below_the_limit() external view returns (bool) {
        return counter.count() < counter.limit();
    }

    function echidna_chain_is_that_of_the_node() external view returns (bool) {
        return block.chainid == 4242 && first >= 1_000 && before != bytes32(0);
    }
}
`;

/** Starts a node with chain id 4242 and the counter, at block 1003. */
async function startCounterNode(t, count = 7) {
  const node = await startAnvil(t, ['--chain-id', '4242', '--number', '1000', '--timestamp', '1700000000']);
  const output = compile({ 'Counter.sol': REMOTE });
  const word = (number) => `0x${number.toString(16).padStart(64, '0')}`;
  await node.send('anvil_setCode', COUNTER, `0x${output.contracts['Counter.sol'].Counter.evm.deployedBytecode.object}`);
  await node.send('anvil_setStorageAt', COUNTER, word(0), word(count));
  await node.send('anvil_setStorageAt', COUNTER, word(1), word(LIMIT));
  await node.send('anvil_mine', '0x3');
  return node;
}

/** Runs `vouch fuzz` in a folder with its own cache, data and variables. */
function runVouch(root, args, env = {}) {
  const folders = { HOME: root, XDG_CACHE_HOME: join(root, 'cache'), XDG_DATA_HOME: join(root, 'data'), XDG_STATE_HOME: join(root, 'state') };
  return runProgram(VOUCH, ['fuzz', ...args], { cwd: join(root, 'project'), env: { PATH: process.env.PATH, ...folders, ...env } });
}

async function createProject(t, files) {
  const root = await createFolder(t);
  await writeFiles(root, Object.fromEntries(Object.entries(files).map(([name, text]) => [`project/${name}`, text])));
  return { root, solc: await writeSolcProgram(root) };
}

const LIMITED = ['--contract', 'ForkTest', '--seed', '3', '--workers', '2', '--json'];
const FLAGS = [...LIMITED, '--test-limit', '4000'];

/** Returns the results without what differs between runs. */
function stable(stdout) {
  const { seconds, callsPerSecond, ...results } = JSON.parse(stdout);
  return results;
}

/** Returns all files of a folder with their content. */
function readTree(folder) {
  return readdirSync(folder, { recursive: true }).map(String).sort()
    .filter((name) => statSync(join(folder, name)).isFile())
    .map((name) => [name, readFileSync(join(folder, name), 'utf8')]);
}

test('a campaign on a fork repeats without the node', { skip }, async (t) => {
  const { root, solc } = await createProject(t, { 'ForkTest.sol': TARGET });
  const node = await startCounterNode(t);
  const proxy = await startProxy(t, node);
  const url = `http://${proxy.host}/${SECRET}?token=${SECRET}`;
  const run = (corpus, ...more) => runVouch(root, ['ForkTest.sol', '--solc', solc, '--rpc-url', url, '--corpus-dir', corpus, ...FLAGS, ...more]);

  const first = await run('first');
  assert.equal(first.code, 1, first.stderr);
  const results = stable(first.stdout);
  const verdicts = Object.fromEntries(results.tests.map(({ name, verdict }) => [name, verdict]));
  assert.deepEqual(verdicts, { echidna_below_the_limit: 'failed', echidna_chain_is_that_of_the_node: 'not-broken' });
  const [{ host, chainId, block }] = results.forks;
  assert.deepEqual({ host, chainId, block }, { host: proxy.host, chainId: 4242, block: 1003 });
  assert.match(first.stderr, new RegExp(`forking chain 4242 at block 1003 \\(0x[0-9a-f]{64}\\) of ${proxy.host}`));
  assert.deepEqual([...proxy.paths], [`/${SECRET}?token=${SECRET}`]);

  // Blocks are mined and the state changes, but the corpus remembers the block.
  await node.send('anvil_setStorageAt', COUNTER, `0x${'0'.repeat(64)}`, `0x${'f'.repeat(64)}`);
  await node.send('anvil_mine', '0x5');
  const replayed = await runVouch(root, ['ForkTest.sol', '--solc', solc, '--contract', 'ForkTest', '--rpc-url', url,
    '--replay', join('first/reproducers', readdirSync(join(root, 'project/first/reproducers'))[0])]);
  assert.equal(replayed.code, 1, replayed.stderr);
  assert.match(replayed.stderr, /at block 1003 /);

  await proxy.stop();
  await node.stop();
  const requests = proxy.requests;
  const repeated = await run('second', '--rpc-block', '1003');
  assert.equal(repeated.code, 1, repeated.stderr);
  assert.deepEqual(stable(repeated.stdout), results);
  const trees = ['first', 'second'].map((name) => readTree(join(root, 'project', name)).filter(([file]) => !/covered\.|unshrunk/.test(file)));
  assert.deepEqual(trees[1], trees[0]);
  assert.equal(proxy.requests, requests);

  // The secret part of the URL is nowhere.
  const written = [...readTree(join(root, 'project')), ...readTree(join(root, 'cache'))].filter(([name]) => !/\.sol$/.test(name) || /foundry/.test(name));
  for (const [name, text] of [...written, ['stdout', first.stdout], ['stderr', first.stderr + repeated.stderr]]) {
    assert.ok(!text.includes(SECRET), `the URL is in ${name}`);
  }
  const cache = join(root, 'cache/vouch/forks');
  for (const name of readdirSync(cache, { recursive: true }).map(String)) {
    assert.equal(statSync(join(cache, name)).mode & 0o077, 0, `others can read ${name}`);
  }
});

test('reproducers of a fork fail under forge', { skip }, async (t) => {
  const { root, solc } = await createProject(t, { 'src/ForkTest.sol': TARGET });
  await writeFiles(root, { 'project/foundry.toml': `[profile.default]\ntest = "test"\nlibs = []\nsolc = "${solc}"\n` });
  const node = await startCounterNode(t);
  const flags = ['src/ForkTest.sol', '--solc', solc, '--rpc-url', node.url, '--corpus-dir', 'corpus', ...FLAGS];
  const { code, stderr } = await runVouch(root, flags);
  assert.equal(code, 1, stderr);
  const folder = join(root, 'project/corpus/foundry');
  const [file] = readdirSync(folder);
  const text = readFileSync(join(folder, file), 'utf8');
  assert.match(text, /vm\.createSelectFork\(vm\.envString\("ETH_RPC_URL"\), 1003\);/);
  assert.ok(!text.includes(node.url));
  await writeFiles(root, { [`project/test/${file}`]: text });
  const env = { PATH: process.env.PATH, HOME: root, ETH_RPC_URL: node.url };
  const { stdout, stderr: log } = await runProgram(findForge(), ['test', '--json'], { cwd: join(root, 'project'), env });
  assert.match(stdout, /^\{/, log);
  const [[, suite]] = Object.entries(JSON.parse(stdout)).filter(([name]) => name.includes('Reproducer'));
  const { status, reason } = suite.test_results['test_replay()'];
  assert.deepEqual({ status, reason }, { status: 'Failure', reason: 'echidna_below_the_limit does not hold' });
});

test('a node that fails ends the campaign and changes no verdict', { skip }, async (t) => {
  const { root, solc } = await createProject(t, { 'ForkTest.sol': TARGET });
  const node = await startCounterNode(t);
  const proxy = await startProxy(t, node);
  const run = (...more) => runVouch(root, ['ForkTest.sol', '--solc', solc, '--rpc-url', `http://${proxy.host}/${SECRET}`, ...LIMITED, ...more]);

  // It limits the rate at first, and then works.
  proxy.answer = (number, _, response) => {
    if (number % 4 !== 1) return false;
    response.writeHead(429, { 'retry-after': '0' }).end();
    return true;
  };
  const limited = await run('--rpc-block', '1003', '--test-limit', '200');
  assert.ok(limited.code === 0 || limited.code === 1, limited.stderr);

  // It fails in the midst of the campaign. The properties hold until then.
  const before = proxy.requests;
  proxy.answer = (number, _, response) => {
    if (number < before + 12) return false;
    response.writeHead(400).end('{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"missing trie node s3cr3t-key"}}');
    return true;
  };
  await node.send('anvil_mine', '0x1');
  const broken = await run('--rpc-block', '1004', '--corpus-dir', 'corpus', '--test-limit', '4000');
  assert.notEqual(broken.code, 0);
  assert.match(broken.stderr, new RegExp(`the state of the fork is unavailable: node ${proxy.host} .*missing trie node …`));
  assert.ok(!(broken.stdout + broken.stderr).includes(SECRET));
  if (broken.stdout !== '') {
    const results = JSON.parse(broken.stdout);
    assert.equal(results.success, false);
    assert.equal(results.endReason, 'the state of the fork could not be fetched');
    for (const { name, verdict } of results.tests) {
      const allowed = name === 'echidna_below_the_limit' ? ['failed', 'not-broken', 'never-called'] : ['not-broken', 'never-called'];
      assert.ok(allowed.includes(verdict), `${name}: ${verdict}`);
    }
  }

  // With the node back, the same command completes, and goes on from what was fetched.
  proxy.answer = () => false;
  const resumed = await run('--corpus-dir', 'corpus', '--test-limit', '4000');
  assert.equal(resumed.code, 1, resumed.stderr);
});

test('a chain that was started anew is not mixed with the cached one', { skip }, async (t) => {
  const { root, solc } = await createProject(t, { 'ForkTest.sol': TARGET });
  const old = await startCounterNode(t, 7);
  const proxy = await startProxy(t, old);
  const flags = ['ForkTest.sol', '--solc', solc, '--rpc-url', `http://${proxy.host}`, ...FLAGS];
  const first = JSON.parse((await runVouch(root, [...flags, '--rpc-block', '1003'])).stdout);
  // The same chain id and block number, with a counter at its limit.
  const anew = await startAnvil(t, ['--chain-id', '4242', '--number', '1000', '--timestamp', '1600000000']);
  await anew.send('anvil_mine', '0x3');
  proxy.answer = (_, body, response) => {
    fetch(anew.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      .then((answered) => answered.text()).then((text) => response.writeHead(200).end(text));
    return true;
  };
  const second = JSON.parse((await runVouch(root, [...flags, '--rpc-block', '1003'])).stdout);
  assert.notEqual(second.forks[0].blockHash, first.forks[0].blockHash);
  // There is no counter on this chain, so that the property reverts.
  const verdict = ({ tests }) => tests.find(({ name }) => name === 'echidna_below_the_limit');
  assert.deepEqual(verdict(second).transactions, []);

  const missing = await runVouch(root, [...flags, '--rpc-block', '999999']);
  assert.match(missing.stderr, new RegExp(`node ${proxy.host} has no block 999999 \\(chain 4242\\)`));
  assert.notEqual(missing.code, 0);
});

/** Tests of cheat codes that forge runs too. `A` and `B` are chains with other ids and counters. */
const FORKS = `// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

interface Vm {
    function createFork(string calldata) external returns (uint256);
    function createFork(string calldata, uint256) external returns (uint256);
    function createSelectFork(string calldata) external returns (uint256);
    function createSelectFork(string calldata, uint256) external returns (uint256);
    function selectFork(uint256) external;
    function activeFork() external view returns (uint256);
    function rollFork(uint256) external;
    function rollFork(uint256, uint256) external;
    function makePersistent(address) external;
    function makePersistent(address, address) external;
    function revokePersistent(address) external;
    function isPersistent(address) external view returns (bool);
    function allowCheatcodes(address) external;
    function rpcUrl(string calldata) external view returns (string memory);
    function store(address, bytes32, bytes32) external;
    function warp(uint256) external;
    function deal(address, uint256) external;
    function snapshotState() external returns (uint256);
    function revertToState(uint256) external returns (bool);
}

contract Box {
    uint256 public value = 5;

    function set(uint256 next) external {
        value = next;
    }
}

contract ForksTest {
    Vm private constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);
    address private constant counter = address(uint160(${BigInt(COUNTER)}));
    uint256 private a;
    uint256 private b;
    uint256 private own;
    Box private early;

    function setUp() public {
        early = new Box();
        a = vm.createFork("a", 1_003);
        b = vm.createFork(vm.rpcUrl("b"), 2_002);
    }

    function count() private view returns (uint256) {
        (, bytes memory word) = counter.staticcall(abi.encodeWithSignature("count()"));
        return abi.decode(word, (uint256));
    }

    function test_select_changes_chain_and_state() public {
        vm.selectFork(a);
        require(block.chainid == 4242 && block.number == 1_003 && count() == 7, "a");
        require(vm.activeFork() == a, "active");
        vm.selectFork(b);
        require(block.chainid == 777 && block.number == 2_002 && count() == 9, "b");
        vm.selectFork(a);
        require(block.chainid == 4242 && count() == 7, "a again");
    }

    function test_changes_stay_on_their_fork() public {
        vm.selectFork(a);
        vm.store(counter, bytes32(0), bytes32(uint256(70)));
        vm.warp(1_234_567);
        vm.deal(address(0xbeef), 5);
        vm.selectFork(b);
        require(count() == 9 && address(0xbeef).balance == 0, "b");
        require(block.timestamp != 1_234_567, "time of b");
        vm.selectFork(a);
        require(count() == 70 && address(0xbeef).balance == 5, "a");
        require(block.timestamp == 1_234_567, "time of a");
    }

    function test_own_storage_is_on_all_forks() public {
        own = 1;
        vm.selectFork(a);
        require(own == 1, "from before");
        own = 2;
        vm.selectFork(b);
        require(own == 2, "from a");
    }

    function test_contracts_belong_to_their_fork() public {
        vm.selectFork(a);
        Box box = new Box();
        box.set(6);
        vm.selectFork(b);
        require(address(box).code.length == 0, "is on b");
        require(!vm.isPersistent(address(box)) && vm.isPersistent(address(this)), "persistent");
        vm.selectFork(a);
        require(box.value() == 6, "value on a");
        vm.makePersistent(address(box));
        vm.selectFork(b);
        require(box.value() == 6, "value on b");
        box.set(8);
        vm.selectFork(a);
        require(box.value() == 8, "value back on a");
        vm.revokePersistent(address(box));
        box.set(9);
        vm.selectFork(b);
        require(box.value() == 8, "value that b had");
    }

    function test_created_before_the_first_fork() public {
        Box box = new Box();
        vm.selectFork(a);
        require(box.value() == 5, "on a");
        vm.selectFork(b);
        require(box.value() == 5, "on b");
    }

    function test_roll_moves_the_active_fork() public {
        vm.selectFork(a);
        require(count() == 7, "before");
        vm.rollFork(1_001);
        require(block.number == 1_001, "number");
        require(blockhash(1_000) != bytes32(0), "hash");
        vm.rollFork(b, 2_001);
        vm.selectFork(b);
        require(block.number == 2_001 && block.chainid == 777, "b");
    }

    function test_latest_block() public {
        uint256 id = vm.createSelectFork("b");
        require(id == vm.activeFork() && block.chainid == 777 && block.number == 2_002, "latest");
    }

    function test_snapshot_across_forks() public {
        vm.selectFork(a);
        uint256 snapshot = vm.snapshotState();
        vm.store(counter, bytes32(0), bytes32(uint256(70)));
        vm.revertToState(snapshot);
        require(count() == 7 && block.chainid == 4242, "a");
    }

    function testFuzz_select(uint256 seed) public {
        vm.selectFork(seed % 2 == 0 ? a : b);
        require(count() == (seed % 2 == 0 ? 7 : 9), "count");
    }

    function test_fails_on_b() public {
        vm.createSelectFork("b", 2_002);
        require(count() == 7, "count of b");
    }

    function test_unknown_fork() public {
        vm.selectFork(77);
    }
}

contract RollHandler {
    Vm private constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);
    uint256 public count;

    function work() external {
        if (block.number < 1_003) vm.rollFork(block.number + 1);
        count++;
    }
}

contract RollTest {
    Vm private constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);
    RollHandler private handler;

    function setUp() public {
        vm.createSelectFork("a", 1_001);
        handler = new RollHandler();
    }

    /// forge-config: default.invariant.runs = 2
    /// forge-config: default.invariant.depth = 10
    function invariant_handler_is_called_twice() public view {
        require(handler.count() < 3, "count");
    }

    /// forge-config: default.invariant.runs = 2
    /// forge-config: default.invariant.depth = 10
    function invariant_block_stays() public view {
        require(block.number < 1_003, "number");
    }
}
`;

test('cheat codes for forks behave as under forge', { skip }, async (t) => {
  const a = await startCounterNode(t);
  const b = await startAnvil(t, ['--chain-id', '777', '--number', '2000']);
  const code = await a.send('eth_getCode', COUNTER, 'latest');
  await b.send('anvil_setCode', COUNTER, code);
  await b.send('anvil_setStorageAt', COUNTER, `0x${'0'.repeat(64)}`, `0x${'9'.padStart(64, '0')}`);
  await b.send('anvil_mine', '0x2');
  const proxy = await startProxy(t, a);
  const { root, solc } = await createProject(t, { 'test/Forks.t.sol': FORKS, '.env': `B_URL="${b.url}" # the other\n` });
  const toml = `[profile.default]\nlibs = []\nsolc = "${solc}"\n[rpc_endpoints]\na = "http://${proxy.host}/"\nb = "\${B_URL}"\n`;
  await writeFiles(root, { 'project/foundry.toml': toml });
  const flags = ['.', '--solc', solc, '--contract', 'ForksTest', '--test-mode', 'foundry', '--seed', '1', '--workers', '2', '--test-limit', '300', '--json'];
  const outcomes = ({ stdout }) => Object.fromEntries(JSON.parse(stdout).tests.map(({ name, verdict }) => [name, verdict]));

  // In an untrusted folder, nothing is asked and no test runs.
  const untrusted = await runVouch(root, flags, { ECHIDNA_RPC_URL: `http://${proxy.host}/` });
  assert.equal(proxy.requests, 0);
  const reasons = JSON.parse(untrusted.stdout).tests.map(({ notRun }) => notRun);
  assert.ok(reasons.length === 11 && reasons.every((reason) => /cheat codes of forks open connections/.test(reason)), untrusted.stdout);
  assert.match(untrusted.stderr, /left out the endpoints of/);
  assert.match(untrusted.stderr, /left out ECHIDNA_RPC_URL/);

  const trusted = await runVouch(root, [...flags, '--trust']);
  const { stdout, stderr } = await runProgram(findForge(), ['test', '--json', '--match-contract', 'ForksTest'], { cwd: join(root, 'project'), env: { PATH: process.env.PATH, HOME: root } });
  assert.match(stdout, /^\{/, stderr);
  const suites = JSON.parse(stdout);
  const results = Object.entries(suites['test/Forks.t.sol:ForksTest'].test_results);
  const expected = results.map(([name, { status }]) => [name, status === 'Success' ? 'not-broken' : 'failed']);
  assert.deepEqual(outcomes(trusted), Object.fromEntries(expected));
  assert.equal(expected.filter(([, verdict]) => verdict === 'failed').length, 2);

  // A handler moves the fork to other blocks, and stays there. Forge breaks both invariants too, but shrinks for minutes.
  const rolled = await runVouch(root, ['.', '--solc', solc, '--contract', 'RollTest', '--seed', '1', '--workers', '1', '--json', '--trust']);
  const failed = JSON.parse(rolled.stdout).tests.filter(({ verdict }) => verdict === 'failed');
  assert.deepEqual(failed.map(({ name }) => name).sort(), ['invariant_block_stays', 'invariant_handler_is_called_twice'], rolled.stderr);

  // Offline, from the cache.
  await a.stop();
  await b.stop();
  await proxy.stop();
  writeFileSync(join(root, 'project/test/Forks.t.sol'), FORKS.replace('createSelectFork("b");', 'createSelectFork("b", 2_002);'));
  const offline = await runVouch(root, [...flags, '--trust']);
  assert.deepEqual(outcomes(offline), outcomes(trusted), offline.stderr);
});

test('files of an untrusted folder cause no request', { skip }, async (t) => {
  const node = await startCounterNode(t);
  const proxy = await startProxy(t, node);
  const url = `http://${proxy.host}/`;
  const echidna = { 'ForkTest.sol': TARGET, 'echidna.yaml': `rpcUrl: ${url}\nrpcBlock: 1003\n` };
  const medusa = {
    'ForkTest.sol': TARGET,
    'medusa.json': JSON.stringify({ fuzzing: { chainConfig: { forkConfig: { forkModeEnabled: true, rpcUrl: url, rpcBlock: 1003 } } } }),
  };
  const foundry = { 'src/ForkTest.sol': TARGET, 'foundry.toml': `[profile.default]\neth_rpc_url = "${url}"\nfork_block_number = 1003\n` };
  for (const [target, files] of [['ForkTest.sol', echidna], ['ForkTest.sol', medusa], ['.', foundry]]) {
    const { root, solc } = await createProject(t, files);
    const flags = [target, '--solc', solc, ...LIMITED, '--test-mode', 'property', '--prefix', 'echidna_', '--test-limit', '50'];
    const before = proxy.requests;
    const untrusted = await runVouch(root, flags);
    assert.equal(proxy.requests, before, untrusted.stderr);
    assert.match(untrusted.stderr, /left out .*; run `vouch trust`/);
    const trusted = await runVouch(root, [...flags, '--trust']);
    assert.ok(proxy.requests > before, trusted.stderr);
    assert.equal(JSON.parse(trusted.stdout).forks?.[0]?.block, 1003, trusted.stderr);
  }
});
