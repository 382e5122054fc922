//! Contracts that are tested by Foundry's rules: their targets, senders and tests.

use fuzz::config::{CampaignSettings, ConstructorArgs, TestMode};
use fuzz::target::FuzzTarget;

use crate::suite::{TargetSubject, build, deploy_contract};

fn settings(mode: TestMode) -> CampaignSettings {
    CampaignSettings {
        test_mode: mode,
        test_limit: 3_000,
        shrink_limit: 100,
        ..CampaignSettings::default()
    }
}

/// Deploys `Chooses` of `targets/Targeting.sol` with this choice of targets.
fn choose(choice: &str) -> TargetSubject {
    let main = vec![format!("\"{choice}\"")];
    let constructor_args = ConstructorArgs { main, ..ConstructorArgs::default() };
    let settings = CampaignSettings { constructor_args, ..settings(TestMode::Property) };
    subject("Chooses", settings)
}

fn subject(contract: &str, settings: CampaignSettings) -> TargetSubject {
    TargetSubject {
        file: "Targeting".to_owned(),
        name: contract.to_owned(),
        settings,
        expectations: Vec::new(),
    }
}

/// Returns the functions that a campaign calls, or the reason why there is none.
fn called_functions(subject: &TargetSubject) -> String {
    match deploy_contract(build(&subject.file), &subject.name, &subject.settings) {
        Ok(target) => describe_targets(&target),
        Err(error) => format!("error: {error}"),
    }
}

fn describe_targets(target: &FuzzTarget) -> String {
    let name = |id: &fuzz::target::FunctionId| {
        let function = target.function(*id);
        let contract = &target.contracts[function.contract].name;
        format!("{contract}.{}", function.name)
    };
    let called: Vec<_> = target.callable.iter().map(name).collect();
    let warnings = target.warnings.iter().map(|warning| format!("; warning: {warning}"));
    let not_run = target.tests.iter().filter_map(|test| test.not_run.as_ref()).take(1);
    let not_run = not_run.map(|reason| format!("not run: {reason}"));
    called.join(", ") + &warnings.chain(not_run).collect::<String>()
}

/// Runs a campaign. Returns the names of the tests that failed, each with the length of its sequence.
fn failed_tests(subject: &TargetSubject) -> String {
    let ran = subject.run(1, 1);
    let mut failed: Vec<_> = (ran.summary.failures.iter())
        .map(|it| format!("{} in {}", ran.target.tests[it.test].name, it.calls.len()))
        .collect();
    failed.sort();
    failed.join(", ")
}

fn table(choices: &[&str], describe: impl Fn(&TargetSubject) -> String) -> String {
    let line = |choice: &&str| format!("{choice}: {}", describe(&choose(choice)));
    choices.iter().map(line).collect::<Vec<_>>().join("\n")
}

const CHOICES: [&str; 13] = [
    "nothing",
    "excludeContract",
    "targetContract and targetSelector",
    "targetSelector",
    "excludeSelector",
    "targetArtifact",
    "excludeArtifact",
    "targetArtifactSelector",
    "targetInterface",
    "targetContract of the test contract",
    "targetSender",
    "excludeSender",
    "revert",
];

#[test]
fn calls_what_the_getters_of_the_test_contract_name() {
    insta::assert_snapshot!(table(&CHOICES, called_functions), @r"
    nothing: Knob.turn, Lever.pull, Lever.push
    excludeContract: Lever.pull, Lever.push
    targetContract and targetSelector: Lever.pull
    targetSelector: Knob.turn, Lever.push
    excludeSelector: Knob.turn, Lever.push
    targetArtifact: Knob.turn
    excludeArtifact: Lever.pull, Lever.push
    targetArtifactSelector: Lever.push
    targetInterface: Knob.turn, Turning.turn
    targetContract of the test contract: Chooses.resetEverything, Chooses.increase
    targetSender: Lever.pull, Lever.push
    excludeSender: Lever.pull, Lever.push
    revert: Knob.turn, Lever.pull, Lever.push; warning: targetContracts() reverted: not today; it counts as empty, as in forge
    ");
}

#[test]
fn breaks_only_invariants_that_the_chosen_targets_can_break() {
    insta::assert_snapshot!(table(&CHOICES[..12], failed_tests), @r"
    nothing: invariant_not_by_excluded in 1, invariant_not_pulled in 1, invariant_not_pushed in 1, invariant_only_alice in 1, statefulFuzz_not_turned in 1
    excludeContract: invariant_not_by_excluded in 1, invariant_not_pulled in 1, invariant_not_pushed in 1, invariant_only_alice in 1
    targetContract and targetSelector: invariant_not_by_excluded in 1, invariant_not_pulled in 1, invariant_only_alice in 1
    targetSelector: invariant_not_by_excluded in 1, invariant_not_pushed in 1, invariant_only_alice in 1, statefulFuzz_not_turned in 1
    excludeSelector: invariant_not_by_excluded in 1, invariant_not_pushed in 1, invariant_only_alice in 1, statefulFuzz_not_turned in 1
    targetArtifact: statefulFuzz_not_turned in 1
    excludeArtifact: invariant_not_by_excluded in 1, invariant_not_pulled in 1, invariant_not_pushed in 1, invariant_only_alice in 1
    targetArtifactSelector: invariant_not_by_excluded in 1, invariant_not_pushed in 1, invariant_only_alice in 1
    targetInterface: statefulFuzz_not_turned in 1
    targetContract of the test contract: invariant_not_increased in 1
    targetSender: invariant_not_pulled in 1, invariant_not_pushed in 1
    excludeSender: invariant_not_pulled in 1, invariant_not_pushed in 1, invariant_only_alice in 1
    ");
}

#[test]
fn reports_targets_that_cannot_be_called() {
    let choices = [
        "targetSelector that is missing",
        "targetSelector of no contract",
        "targetArtifact that is missing",
        "huge list",
        "long list",
        "garbage",
        "endless loop",
    ];
    let mut lines = vec![table(&choices, called_functions)];
    for contract in ["NothingToCall", "TakesArguments", "RevertsInSetUp"] {
        let subject = subject(contract, settings(TestMode::Property));
        lines.push(format!("{contract}: {}", called_functions(&subject)));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    targetSelector that is missing: error: the targets of `Chooses`: `Lever` has no function with the selector 0xdeadbeef
    targetSelector of no contract: error: the targets of `Chooses`: targetSelectors() names 0x0000000000000000000000000000000000001234, where setUp() deployed no contract of the project
    targetArtifact that is missing: error: the targets of `Chooses`: unknown artifact `Crank`; expected `Name` or `path:Name`
    huge list: error: the targets of `Chooses`: targetContracts() returned 3200064 bytes, which is too large
    long list: error: the targets of `Chooses`: targetContracts() returned malformed data, or more than 4096 values
    garbage: error: the targets of `Chooses`: targetContracts() returned malformed data, or more than 4096 values
    endless loop: Knob.turn, Lever.pull, Lever.push; warning: targetContracts() ran out of gas or time; it counts as empty, as in forge
    NothingToCall: error: the targets of `NothingToCall`: no contracts to call; deploy one in setUp(), or name it with targetContract
    TakesArguments: error: `TakesArguments`: `invariant_of(uint256)` cannot be a test: it must take no arguments
    RevertsInSetUp: not run: setUp() failed: reverted: not today
    ");
}

#[test]
fn checks_handlers_after_invariant_and_reverts() {
    let contracts = [
        "FindsHandlerAssertion",
        "ChecksAfterwards",
        "FailsAfterwards",
        "FailsOnRevert",
        "Maximizes",
    ];
    let line = |contract: &str| {
        let subject = subject(contract, settings(TestMode::Foundry));
        format!("{contract}: {}", failed_tests(&subject))
    };
    insta::assert_snapshot!(contracts.map(line).join("\n"), @r"
    FindsHandlerAssertion: assertions of the targets in 3
    ChecksAfterwards: assertions of the targets in 3
    FailsAfterwards: afterInvariant in 0
    FailsOnRevert: assertions of the targets in 3, invariant_strict in 1
    Maximizes:
    ");
}

#[test]
fn comment_sets_the_length_of_sequences() {
    let plain = CampaignSettings::default();
    let target = deploy_contract(build("Targeting"), "Maximizes", &plain).unwrap();
    assert_eq!(target.settings.test_limit, 2 * 256);
    let ran = subject("Maximizes", settings(TestMode::Property)).run(1, 1);
    assert_eq!(ran.target.settings.sequence_length.get(), 2);
    let best: Vec<_> = ran.summary.best.iter().map(|it| it.value.to_string()).collect();
    assert_eq!(best, ["14"], "two turns by at most 7");
}

#[test]
fn test_filters_select_tests_by_name() {
    let mut settings = settings(TestMode::Property);
    settings.foundry.filter.matches = Some("invariant_not_p".parse().unwrap());
    settings.foundry.filter.excludes = Some("pushed".parse().unwrap());
    let target = deploy_contract(build("Targeting"), "Targeting", &settings).unwrap();
    let names: Vec<_> = target.tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(names, ["invariant_not_pulled", "assertions of the targets"]);
}

#[test]
fn contract_with_echidna_properties_keeps_echidna_rules() {
    let settings = CampaignSettings::default();
    let target = deploy_contract(build("Inherited"), "Inherited", &settings).unwrap();
    assert_eq!(*target.settings, settings);
}

#[test]
fn given_settings_override_those_of_foundry() {
    let mut settings = settings(TestMode::Property);
    settings.foundry.given.extend(["seqLen", "testLimit"]);
    let target = deploy_contract(build("Targeting"), "Targeting", &settings).unwrap();
    assert_eq!(target.settings.sequence_length, settings.sequence_length);
    assert_eq!(target.settings.test_limit, settings.test_limit);
    assert_eq!(target.settings.max_time_delay, 0);
}

fn rules_subject(contract: &str, settings: CampaignSettings) -> TargetSubject {
    TargetSubject { file: "ForgeRules".to_owned(), ..subject(contract, settings) }
}

#[test]
fn campaigns_follow_the_limits_of_forge() {
    let contracts =
        ["CreatesTargets", "NamesTargets", "SendsNoValue", "HasDepths", "NeedsLongSequences"];
    let line = |contract: &str| {
        let settings = CampaignSettings {
            test_limit: CampaignSettings::default().test_limit,
            ..settings(TestMode::Property)
        };
        let failed = failed_tests(&rules_subject(contract, settings));
        format!("{contract}: {failed}").trim_end().to_owned()
    };
    insta::assert_snapshot!(contracts.map(line).join("\n"), @r"
    CreatesTargets: invariant_not_betrayed in 2
    NamesTargets:
    SendsNoValue:
    HasDepths: invariant_long in 10
    NeedsLongSequences: invariant_no_fees in 12
    ");
}

/// Returns the number of calls of each function that was called.
fn count_calls(subject: &TargetSubject, workers: usize) -> String {
    let ran = subject.run(1, workers);
    let functions = ran.target.functions.iter().zip(ran.shared.statistics());
    let called = functions.filter(|(_, statistics)| statistics.calls > 0);
    let mut lines: Vec<_> =
        called.map(|(function, it)| format!("{} {}", function.name, it.calls)).collect();
    lines.push(format!("ended because {}", ran.shared.end_reason().unwrap()));
    lines.join("\n")
}

#[test]
fn each_unit_test_is_called_once_and_each_fuzz_test_often() {
    let plain = CampaignSettings::default();
    let settings = |filter: &str| {
        let mut settings =
            CampaignSettings { test_limit: plain.test_limit, ..settings(TestMode::Foundry) };
        settings.foundry.filter.matches = Some(filter.parse().unwrap());
        settings
    };
    let found = failed_tests(&rules_subject("ForgeRules", settings("finds_a_constant")));
    assert_eq!(found, "testFuzz_finds_a_constant(uint256) in 1");
    for workers in [1, 3] {
        let calls = count_calls(&rules_subject("ForgeRules", settings("^test_")), workers);
        let expected = "test_has_one_sender 1\n\
                        test_prank_goes_on 1\n\
                        test_recording_goes_on 1\n\
                        test_reports_another_owner 1\n\
                        ended because no call is left that could change the result of a test";
        assert_eq!(calls, expected, "with {workers} workers");
    }
    let calls = count_calls(&rules_subject("ForgeRules", settings("^testFuzz_(has|prank)")), 1);
    for line in calls.lines().filter(|line| line.starts_with("testFuzz")) {
        let (name, count) = line.split_once(' ').unwrap();
        assert!(count.parse::<u64>().unwrap() >= 128, "{name}: {count}");
    }
}

/// Returns the verdict of each test.
fn verdicts(settings: &CampaignSettings) -> String {
    let ran = rules_subject("UsesMachine", settings.clone()).run(1, 1);
    let verdicts = ran.target.tests.iter().zip(&ran.summary.verdicts);
    verdicts.map(|(test, verdict)| format!("{}: {verdict}\n", test.name)).collect()
}

#[test]
fn variables_and_files_are_read_only_in_a_trusted_project() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("data")).unwrap();
    std::fs::write(root.join("data/number.json"), r#"{"inner": [1, {"number": 11}]}"#).unwrap();
    std::fs::write(root.join("secret.txt"), "secret").unwrap();
    let mut settings = settings(TestMode::Foundry);
    insta::assert_snapshot!(verdicts(&settings), @r"
    test_broadcasts_as_sender(): not broken in 1 call
    test_compares_decimals(): not broken in 1 call
    test_expects_gas(): not broken in 1 call
    test_parses_json(): not broken in 1 call
    test_reads_default(): not run: the cheat code vm.envOr reads an environment variable; run `vouch trust` in the project to allow it
    test_reads_file(): not run: the cheat code vm.readFile reads a file; run `vouch trust` in the project to allow it
    test_reads_forbidden_file(): not run: the cheat code vm.readFile reads a file; run `vouch trust` in the project to allow it
    test_reads_variable(): not run: the cheat code vm.envUint reads an environment variable; run `vouch trust` in the project to allow it
    test_reads_what_it_set(): not broken in 1 call
    ");
    let permissions =
        "[profile.default]\nfs_permissions = [{ access = 'read', path = './data' }]\n";
    let variables = [("FROM_OUTSIDE".to_owned(), "5".to_owned())].into();
    let access = fuzz::config::ProjectAccess::new(root, permissions, variables);
    settings.access = Some(std::sync::Arc::new(access));
    insta::assert_snapshot!(verdicts(&settings), @r"
    test_broadcasts_as_sender(): not broken in 1 call
    test_compares_decimals(): not broken in 1 call
    test_expects_gas(): not broken in 1 call
    test_parses_json(): not broken in 1 call
    test_reads_default(): not broken in 1 call
    test_reads_file(): not broken in 1 call
    test_reads_forbidden_file(): failed
    test_reads_variable(): not broken in 1 call
    test_reads_what_it_set(): not broken in 1 call
    ");
}
