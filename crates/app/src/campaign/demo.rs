//! The contract that comes with the program, so that fuzzing can be seen with nothing installed.

use solidity::{Build, Toolchain};

use crate::failure::{Explain, Result};

const SOURCE: &str = include_str!("demo/Vault.sol");
/// What `demo/compile.mjs` made of the source.
const COMPILED: &str = include_str!("demo/Vault.json");

/// Reads it as any compiler's output, from a folder that is gone afterwards.
pub fn build() -> Result<Build> {
    let failed = "cannot unpack the demo into the folder for temporary files";
    let folder = tempfile::tempdir().explain(failed)?;
    let compiled = folder.path().join("Vault.json");
    std::fs::write(folder.path().join("Vault.sol"), SOURCE).explain(failed)?;
    std::fs::write(&compiled, COMPILED).explain(failed)?;
    solidity::load(&compiled, &Toolchain::default()).explain("the demo cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_is_compiled_from_its_source() {
        let compiled: serde_json::Value = serde_json::from_str(COMPILED).unwrap();
        let hash = alloy_primitives::hex::encode(alloy_primitives::keccak256(SOURCE));
        assert_eq!(
            compiled["sources"]["Vault.sol"]["keccak256"], hash,
            "run demo/compile.mjs, as it says at its top"
        );
    }
}
