//! Contracts by name.

use serde_json::json;

use crate::folder::Folder;

fn check(name: &str) -> String {
    let contract = json!({ "evm": { "bytecode": { "object": "00" } } });
    let folder = Folder::new();
    let output = json!({ "contracts": {
        "src/Bank.sol": { "Bank": contract, "Vault": contract, "Token": contract },
        "src/old/Bank.sol": { "Bank": contract },
        "mybank/Safe.sol": { "Safe": contract },
        "Top.sol": { "Top": contract },
        "lib/Top.sol": { "Top": contract },
    } });
    folder.write("out.json", &output.to_string());
    match folder.load("out.json").unwrap().find(name) {
        Ok(contract) => contract.qualified_name(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn names_with_and_without_path() {
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
    bank/Safe.sol:Safe => there is no contract `bank/Safe.sol:Safe`; the nearest names are `Safe`
    Bank => several contracts are called `Bank`; say which: `src/Bank.sol:Bank`, `src/old/Bank.sol:Bank`
    Bank.sol:Bank => several contracts are called `Bank.sol:Bank`; say which: `src/Bank.sol:Bank`, `src/old/Bank.sol:Bank`
    Top.sol:Top => Top.sol:Top
    vault => there is no contract `vault`; the nearest names are `Vault`
    Tokn => there is no contract `Tokn`; the nearest names are `Token`, `Top`
    src/Bank.sol:Vualt => there is no contract `src/Bank.sol:Vualt`; the nearest names are `Vault`
    Quite different => there is no contract `Quite different`; the nearest names are `Token`, `Vault`, `Top`, `Safe`, `Bank`
     => there is no contract ``; the nearest names are `Bank`, `Safe`, `Token`, `Top`, `Vault`
    : => there is no contract `:`; the nearest names are `Bank`, `Safe`, `Token`, `Top`, `Vault`
    ");
}
