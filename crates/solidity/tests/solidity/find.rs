//! Finding contracts by name.

use serde_json::json;

use crate::folder::TestFolder;

fn check(name: &str) -> String {
    let contract = json!({ "evm": { "bytecode": { "object": "00" } } });
    let folder = TestFolder::new();
    let output = json!({ "contracts": {
        "src/Bank.sol": { "Bank": contract, "Vault": contract, "Token": contract },
        "src/old/Bank.sol": { "Bank": contract },
        "mybank/Safe.sol": { "Safe": contract },
        "Top.sol": { "Top": contract },
        "lib/Top.sol": { "Top": contract },
    } });
    folder.write("out.json", &output.to_string());
    match folder.load("out.json").unwrap().find_contract(name) {
        Ok(contract) => contract.qualified_name(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn finds_contracts_by_name_and_path() {
    let names = [
        "Vault",
        "src/Bank.sol:Bank",
        "Bank.sol:Vault",
        "./src/old/Bank.sol:Bank",
        "old/Bank.sol:Bank",
        "bank/Safe.sol:Safe",
        "Bank",
        "Bank.sol:Bank",
        "Top.sol:Top",
        "vault",
        "Tokn",
        "src/Bank.sol:Vualt",
        "Quite different",
        "",
        ":",
    ];
    let answers: Vec<_> = names.iter().map(|name| format!("{name} => {}", check(name))).collect();
    insta::assert_snapshot!(answers.join("\n"), @"
    Vault => src/Bank.sol:Vault
    src/Bank.sol:Bank => src/Bank.sol:Bank
    Bank.sol:Vault => src/Bank.sol:Vault
    ./src/old/Bank.sol:Bank => src/old/Bank.sol:Bank
    old/Bank.sol:Bank => src/old/Bank.sol:Bank
    bank/Safe.sol:Safe => unknown contract `bank/Safe.sol:Safe`; similar names: `Safe`
    Bank => ambiguous contract name `Bank`; candidates: `src/Bank.sol:Bank`, `src/old/Bank.sol:Bank`
    Bank.sol:Bank => ambiguous contract name `Bank.sol:Bank`; candidates: `src/Bank.sol:Bank`, `src/old/Bank.sol:Bank`
    Top.sol:Top => Top.sol:Top
    vault => unknown contract `vault`; similar names: `Vault`
    Tokn => unknown contract `Tokn`; similar names: `Token`, `Top`
    src/Bank.sol:Vualt => unknown contract `src/Bank.sol:Vualt`; similar names: `Vault`
    Quite different => unknown contract `Quite different`; similar names: `Token`, `Vault`, `Top`, `Safe`, `Bank`
     => unknown contract ``; similar names: `Bank`, `Safe`, `Token`, `Top`, `Vault`
    : => unknown contract `:`; similar names: `Bank`, `Safe`, `Token`, `Top`, `Vault`
    ");
}
