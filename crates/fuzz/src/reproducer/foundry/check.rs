//! The final check of a replay, for each kind of test.

use std::fmt::Write as _;

use alloy_primitives::{I256, hex};

use super::{FoundryTestError, ReproducedFinding, ReproducerScene, sanitize_comment};
use crate::abi::text;
use crate::target::{FunctionId, FuzzTarget, TestKind};

/// The final check of a replay.
pub(super) struct ReplayCheck {
    /// Function to call after all steps; None to check the last step itself.
    pub(super) function: Option<FunctionId>,
    /// Declaration that binds the results of that call or step.
    pub(super) binding: &'static str,
    /// Statements required before the last step, so that the condition can observe its effect.
    pub(super) before: String,
    condition: String,
    message: String,
}

const BOTH: &str = "(bool ok, bytes memory result) = ";
const SUCCESS: &str = "(bool ok,) = ";
const NEITHER: &str = "";

impl ReplayCheck {
    pub(super) fn from_finding(
        finding: &ReproducedFinding<'_>,
        scene: &ReproducerScene,
    ) -> Result<Self, FoundryTestError> {
        let name = &finding.test.name;
        Ok(match finding.test.kind {
            TestKind::Property { function } => Self::with_function(
                function,
                BOTH,
                "ok && holds(result)",
                format!("{name} does not hold"),
            ),
            TestKind::MustRevert { function } => {
                Self::with_function(function, SUCCESS, "!ok", format!("{name} does not revert"))
            }
            TestKind::Invariant { function } | TestKind::AfterInvariant { function } => {
                Self::with_function(function, SUCCESS, "ok", format!("{name} reverts"))
            }
            TestKind::Maximum { function } => {
                let best =
                    finding.best.ok_or_else(|| FoundryTestError::UnknownMaximum(name.clone()))?;
                let below = format!("abi.decode(result, (int256)) < {}", format_int256(best));
                let condition = format!("!ok || result.length < 32 || {below}");
                Self::with_function(function, BOTH, &condition, format!("{name} reaches {best}"))
            }
            TestKind::Assertion { .. } | TestKind::HandlerAssertion | TestKind::AssertionEvent => {
                Self {
                    before: "        vm.recordLogs();\n        uint256 before = gasleft();\n"
                        .to_owned(),
                    ..Self::on_last_step(
                        BOTH,
                        "!assertionFailed(ok, result, before - gasleft())",
                        format!("{name}: an assertion failed"),
                    )
                }
            }
            TestKind::Overflow { .. } => Self::on_last_step(
                BOTH,
                "ok || !panicked(result, 0x11)",
                format!("{name}: arithmetic overflowed"),
            ),
            TestKind::Unit { .. } => Self::on_last_step(SUCCESS, "ok", format!("{name} reverts")),
            TestKind::Destruction { address } => {
                // Since Cancun, self-destruct binding the code but still moves the balance.
                let address = scene.address_expression(address);
                let message = format!("{name}: the contract destroyed itself");
                Self {
                    before: format!("        if ({address}.balance == 0) vm.deal({address}, 1);\n"),
                    ..Self::on_last_step(NEITHER, &format!("{address}.balance != 0"), message)
                }
            }
        })
    }

    fn with_function(
        function: FunctionId,
        binding: &'static str,
        condition: &str,
        message: String,
    ) -> Self {
        Self { function: Some(function), ..Self::on_last_step(binding, condition, message) }
    }

    fn on_last_step(binding: &'static str, condition: &str, message: String) -> Self {
        let condition = condition.to_owned();
        Self { function: None, binding, before: String::new(), condition, message }
    }

    /// Writes the statements that fail while the bug exists.
    pub(super) fn write_statements(
        &self,
        out: &mut String,
        scene: &ReproducerScene,
        target: &FuzzTarget,
    ) {
        if let Some(function) = self.function {
            let function = target.function(function);
            let (sender, address) = (
                scene.address_expression(scene.property_sender),
                scene.address_expression(function.address),
            );
            let (gas, data) = (scene.property_gas, hex::encode(function.selector));
            let _ = writeln!(out, "        // {}", sanitize_comment(&function.signature));
            let _ = writeln!(out, "        vm.prank({sender}, {sender});");
            let binding = self.binding;
            let _ = writeln!(out, "        {binding}{address}.call{{gas: {gas}}}(hex\"{data}\");");
        }
        let mut message = String::new();
        text::write_string_literal(&mut message, self.message.as_bytes());
        let _ = writeln!(out, "        require({}, {message});", self.condition);
    }
}

/// Formats a number as a Solidity literal; the minimum cannot be written as a negation.
fn format_int256(number: I256) -> String {
    if number == I256::MIN { "type(int256).min".to_owned() } else { format!("int256({number})") }
}
