//! What must hold at the end of a replay, for each way in which a test fails.

use std::fmt::Write as _;

use alloy_primitives::{I256, hex};

use super::{Finding, NoTest, Scene, comment};
use crate::abi::text;
use crate::target::{FunctionId, Target, TestKind};

/// How the end of a replay is judged.
pub(super) struct Check {
    /// What is called after all steps; None if the last step itself is judged.
    pub(super) asks: Option<FunctionId>,
    /// What is kept of that call or step.
    pub(super) keeps: &'static str,
    /// Statements that have to stand before the last step for the condition to see what it does.
    pub(super) before: String,
    condition: String,
    complaint: String,
}

const BOTH: &str = "(bool ok, bytes memory result) = ";
const SUCCESS: &str = "(bool ok,) = ";
const NEITHER: &str = "";

impl Check {
    pub(super) fn of(finding: &Finding<'_>, scene: &Scene) -> Result<Self, NoTest> {
        let name = &finding.test.name;
        Ok(match finding.test.kind {
            TestKind::Property { function } => {
                Self::asking(function, BOTH, "ok && holds(result)", format!("{name} does not hold"))
            }
            TestKind::MustRevert { function } => {
                Self::asking(function, SUCCESS, "!ok", format!("{name} does not revert"))
            }
            TestKind::Invariant { function } => {
                Self::asking(function, SUCCESS, "ok", format!("{name} reverts"))
            }
            TestKind::Maximum { function } => {
                let best = finding.best.ok_or_else(|| NoTest::NoNumber(name.clone()))?;
                let below = format!("abi.decode(result, (int256)) < {}", number(best));
                let condition = format!("!ok || result.length < 32 || {below}");
                Self::asking(function, BOTH, &condition, format!("{name} reaches {best}"))
            }
            TestKind::Assertion { .. } | TestKind::Event => Self {
                before: "        vm.recordLogs();\n        uint256 before = gasleft();\n"
                    .to_owned(),
                ..Self::judging(
                    BOTH,
                    "!assertionFailed(ok, result, before - gasleft())",
                    format!("{name}: an assertion failed"),
                )
            },
            TestKind::Overflow { .. } => Self::judging(
                BOTH,
                "ok || !panicked(result, 0x11)",
                format!("{name}: arithmetic overflowed"),
            ),
            TestKind::Unit { .. } => Self::judging(SUCCESS, "ok", format!("{name} reverts")),
            TestKind::Destruction { address } => {
                // Since Cancun the code of a destroyed contract stays; what it owns still goes.
                let address = scene.name(address);
                let complaint = format!("{name}: the contract destroyed itself");
                Self {
                    before: format!("        if ({address}.balance == 0) vm.deal({address}, 1);\n"),
                    ..Self::judging(NEITHER, &format!("{address}.balance != 0"), complaint)
                }
            }
        })
    }

    fn asking(
        function: FunctionId,
        keeps: &'static str,
        condition: &str,
        complaint: String,
    ) -> Self {
        Self { asks: Some(function), ..Self::judging(keeps, condition, complaint) }
    }

    fn judging(keeps: &'static str, condition: &str, complaint: String) -> Self {
        let condition = condition.to_owned();
        Self { asks: None, keeps, before: String::new(), condition, complaint }
    }

    /// The statements that fail while the finding stands.
    pub(super) fn write(&self, out: &mut String, scene: &Scene, target: &Target) {
        if let Some(function) = self.asks {
            let function = target.function(function);
            let (sender, address) =
                (scene.name(scene.property_sender), scene.name(function.address));
            let (gas, data) = (scene.property_gas, hex::encode(function.selector));
            let _ = writeln!(out, "        // {}", comment(&function.signature));
            let _ = writeln!(out, "        vm.prank({sender}, {sender});");
            let keeps = self.keeps;
            let _ = writeln!(out, "        {keeps}{address}.call{{gas: {gas}}}(hex\"{data}\");");
        }
        let mut complaint = String::new();
        text::quote(&mut complaint, self.complaint.as_bytes());
        let _ = writeln!(out, "        require({}, {complaint});", self.condition);
    }
}

/// A number as Solidity reads it; the smallest has no positive counterpart to negate.
fn number(number: I256) -> String {
    if number == I256::MIN { "type(int256).min".to_owned() } else { format!("int256({number})") }
}
