//! The scene of a deployed target, and the recorder that writes Foundry tests with it.

use std::fs;
use std::path::Path;

use fuzz::campaign::{CampaignRecorder, TestFailure};
use fuzz::config::{CampaignSettings, TestMode};
use fuzz::corpus::{CorpusFolder, CorpusRecorder};
use fuzz::reproducer::foundry::{DeploymentCode, ReproducerScene, SceneSource};
use fuzz::target::FuzzTarget;

use crate::suite::{build, deploy_contract};

fn foundry_style() -> (FuzzTarget, usize, CampaignSettings) {
    let settings = CampaignSettings { test_mode: TestMode::Foundry, ..CampaignSettings::default() };
    let build = build("FoundryStyle");
    let name = "FoundryStyle";
    let index = build.contracts.iter().position(|contract| contract.name == name).unwrap();
    (deploy_contract(build, name, &settings).unwrap(), index, settings)
}

#[test]
fn scene_imports_the_source_of_a_contract_on_disk() {
    let (target, contract, settings) = foundry_style();
    let source = SceneSource { target: &target, contract, is_bundled: false };
    let scene = ReproducerScene::from_source(source, &settings);
    let last = scene.deployments.last().unwrap();
    assert_eq!(last.address, settings.contract_address);
    let DeploymentCode::Source { import, name } = &last.code else {
        panic!("the source must be imported")
    };
    assert_eq!((import.as_str(), name.as_str()), ("FoundryStyle.sol", "FoundryStyle"));
    assert_eq!(scene.set_up, Some(settings.contract_address), "it has setUp()");
}

#[test]
fn scene_carries_the_code_of_a_bundled_contract() {
    let (target, contract, settings) = foundry_style();
    let source = SceneSource { target: &target, contract, is_bundled: true };
    let scene = ReproducerScene::from_source(source, &settings);
    let DeploymentCode::Bytes(bytes) = &scene.deployments.last().unwrap().code else {
        panic!("the code must be carried")
    };
    assert!(!bytes.is_empty());
}

#[test]
fn recorder_keeps_a_failure_before_and_after_it_is_shrunk() {
    let (target, contract, settings) = foundry_style();
    let source = SceneSource { target: &target, contract, is_bundled: false };
    let scene = ReproducerScene::from_source(source, &settings);
    let folder = tempfile::tempdir().unwrap();
    let recorder = CorpusRecorder::new(CorpusFolder::open(folder.path()).unwrap(), scene);
    let count = |name: &str| fs::read_dir(Path::new(folder.path()).join(name)).unwrap().count();
    let mut failure = TestFailure {
        test: 0,
        site: (0, 0),
        worker: 0,
        found: Vec::new(),
        calls: Vec::new(),
        is_shrunk: false,
    };
    recorder.record_failure(&target, &failure).unwrap();
    assert_eq!((count("reproducers-unshrunk"), count("reproducers")), (1, 0));
    failure.is_shrunk = true;
    recorder.record_failure(&target, &failure).unwrap();
    assert_eq!((count("reproducers"), count("foundry")), (1, 1));
}
