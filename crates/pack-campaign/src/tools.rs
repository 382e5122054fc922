//! The tools: each file in `tools/` declares one or two of them and implements them. This module connects them to
//! slots.
//!
//! A tool is a [`CampaignToolSpec`]: its published contract and plain functions on a started campaign. This module
//! resolves the campaign, and checks that it has started and can still be steered, before it calls any of these
//! functions.

mod clear_priorities;
mod dump_lcov;
mod execute_sequence;
mod find_transaction;
mod inject;
mod inspect_corpus;
mod pause;
mod prioritize;
mod read_logs;
mod reproducer;
mod sample;
mod sequence;
mod show_coverage;
mod signature;
mod source_coverage;
mod status;
mod target;
mod transaction;
mod whole_number;

use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, Constraints, Contract, ContractError, ErrorCode, SchemaViolation, SideEffects,
    Tool, ToolDefinition, ToolError, ToolExample, ToolOutput,
};
use serde_json::{Value, json};

use crate::schema::ToolSchemas;
use crate::slot::CampaignSlot;
use crate::view::CampaignView;

pub(crate) use read_logs::read_events;
pub(crate) use show_coverage::summarize_coverage;
pub use target::PROTOCOL_VERSION;

/// Calls per minute that each caller may make.
const CALLS_PER_MINUTE: u32 = 600;
/// Time limit of a call, however busy the campaign keeps the machine.
const CALL_TIMEOUT: Duration = Duration::from_millis(100);
/// Time limit for tools that execute smart contracts or wait for the campaign.
const LONG_CALL_TIMEOUT: Duration = Duration::from_secs(2);

/// Published contract of a tool and the functions that implement it.
struct CampaignToolSpec {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    schemas: ToolSchemas,
    constraints: Constraints,
    examples: Vec<ToolExample>,
    /// Error codes beyond those that every tool of the pack can return.
    errors: &'static [ErrorCode],
    /// The tool steers the workers, which is impossible once the campaign has ended.
    steers: bool,
    /// Checks rules that a schema cannot express.
    check: fn(&CampaignView, &Value) -> Result<(), ToolError>,
    run: fn(&CampaignView, Value, &CallContext) -> Result<ToolOutput, ToolError>,
    reword: fn(&SchemaViolation) -> Option<ToolError>,
}

impl CampaignToolSpec {
    /// Creates a read-only tool without rules beyond its schema. Other tools override the fields that differ.
    fn new(
        name: &'static str,
        schemas: ToolSchemas,
        run: fn(&CampaignView, Value, &CallContext) -> Result<ToolOutput, ToolError>,
    ) -> Self {
        Self {
            name,
            title: "",
            description: "",
            schemas,
            constraints: read_constraints(),
            examples: Vec::new(),
            errors: &[],
            steers: false,
            check: |_, _| Ok(()),
            run,
            reword: |_| None,
        }
    }

    fn build_contract(
        self,
        handles: &[&str],
    ) -> Result<(Contract, CampaignToolHandlers), ContractError> {
        let Self { check, run, reword, steers, mut examples, mut schemas, .. } = self;
        if let [first, _, ..] = handles {
            schemas = schemas.with_campaign_parameter(handles);
            for example in &mut examples {
                example.input["campaign"] = json!(first);
            }
        }
        let definition = ToolDefinition {
            name: self.name.into(),
            title: Some(self.title.into()),
            description: Some(self.description.into()),
            input_schema: Some(schemas.input),
            output_schema: Some(schemas.output),
            constraints: Some(self.constraints),
            examples,
            ..ToolDefinition::default()
        };
        let every = [
            ErrorCode::InvalidInput,
            ErrorCode::UpstreamUnavailable,
            ErrorCode::ExecutionTimeout,
            ErrorCode::InternalError,
        ];
        let errors: Vec<ErrorCode> = every.iter().chain(self.errors).copied().collect();
        Ok((
            Contract::new(definition, &errors)?,
            CampaignToolHandlers { check, run, reword, steers },
        ))
    }
}

pub(crate) fn read_constraints() -> Constraints {
    Constraints {
        access: "read-only access to the campaign of this server".into(),
        rate_per_minute: CALLS_PER_MINUTE,
        timeout: CALL_TIMEOUT,
        ..Constraints::default()
    }
}

/// Returns the constraints of a steering tool. Approval is required only if the operator's policy says so.
fn steering_constraints(side_effects: SideEffects) -> Constraints {
    let access = "steers the campaign of this server".into();
    Constraints { access, side_effects, ..read_constraints() }
}

fn build_example(title: &str, input: Value, output: Value) -> ToolExample {
    ToolExample { title: Some(title.into()), input, output: Some(output) }
}

fn invalid_argument(field: &str, message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::InvalidInput, message).with_detail("field", field)
}

/// Builds all tools: the nine of the contract first, in its order.
pub(crate) fn build_tools(
    slots: &Arc<[Arc<CampaignSlot>]>,
) -> Result<Vec<Arc<dyn Tool>>, ContractError> {
    let specs = [
        read_logs::build_spec(),
        show_coverage::build_spec(),
        dump_lcov::build_spec(),
        inspect_corpus::build_size_spec(),
        inspect_corpus::build_spec(),
        find_transaction::build_spec(),
        inject::build_spec(),
        prioritize::build_spec(),
        clear_priorities::build_spec(),
        status::build_spec(),
        target::build_spec(),
        source_coverage::build_spec(),
        reproducer::build_spec(),
        execute_sequence::build_spec(),
        sample::build_spec(),
        pause::build_pause_spec(),
        pause::build_resume_spec(),
    ];
    let build_tool = |spec| {
        CampaignTool::new(spec, Arc::clone(slots)).map(|tool| Arc::new(tool) as Arc<dyn Tool>)
    };
    specs.into_iter().map(build_tool).collect()
}

/// Functions of a [`CampaignToolSpec`].
struct CampaignToolHandlers {
    check: fn(&CampaignView, &Value) -> Result<(), ToolError>,
    run: fn(&CampaignView, Value, &CallContext) -> Result<ToolOutput, ToolError>,
    reword: fn(&SchemaViolation) -> Option<ToolError>,
    steers: bool,
}

/// A tool with the slots of the campaigns that it can be called for.
struct CampaignTool {
    contract: Arc<Contract>,
    work: CampaignToolHandlers,
    slots: Arc<[Arc<CampaignSlot>]>,
}

impl CampaignTool {
    fn new(spec: CampaignToolSpec, slots: Arc<[Arc<CampaignSlot>]>) -> Result<Self, ContractError> {
        let handles: Vec<&str> = slots.iter().map(|slot| slot.handle()).collect();
        let (contract, work) = spec.build_contract(&handles)?;
        let contract = Arc::new(contract);
        Ok(Self { contract, work, slots })
    }

    /// Returns the slot of the campaign that the arguments name.
    fn find_slot(&self, arguments: &Value) -> Result<&CampaignSlot, ToolError> {
        let slot = match &*self.slots {
            [only] => Some(only),
            slots => {
                let handle = arguments.get("campaign").and_then(Value::as_str);
                slots.iter().find(|slot| Some(slot.handle()) == handle)
            }
        };
        // The schema rejects unknown handles, so this concerns only a pack without slots.
        let not_found = || ToolError::new(ErrorCode::NotFound, "unknown campaign");
        slot.map(Arc::as_ref).ok_or_else(not_found)
    }

    /// Returns the error for arguments passed to a tool without parameters: the schema's own message cannot name
    /// them.
    fn no_parameters_error(&self) -> Option<ToolError> {
        let Contract { name, input, .. } = &*self.contract;
        let has_parameters =
            input.as_value()["properties"].as_object().is_some_and(|it| !it.is_empty());
        let message = || format!("`{name}` takes no parameters; call it with {{}}");
        (!has_parameters).then(|| ToolError::new(ErrorCode::InvalidInput, message()))
    }

    fn resolve_campaign(&self, arguments: &Value) -> Result<Arc<CampaignView>, ToolError> {
        let campaign = self.find_slot(arguments)?.campaign_view()?;
        if self.work.steers {
            campaign.check_steerable()?;
        }
        Ok(campaign)
    }
}

impl Tool for CampaignTool {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn reword_violation(&self, violation: &SchemaViolation) -> Option<ToolError> {
        (self.work.reword)(violation).or_else(|| self.no_parameters_error())
    }

    fn check_arguments(&self, arguments: &Value) -> Result<(), ToolError> {
        let campaign = self.resolve_campaign(arguments)?;
        (self.work.check)(&campaign, arguments)
    }

    fn call(&self, mut arguments: Value, ctx: &CallContext) -> Result<ToolOutput, ToolError> {
        // Checks again: the campaign may have ended while a person decided.
        let campaign = self.resolve_campaign(&arguments)?;
        if let Some(map) = arguments.as_object_mut() {
            map.remove("campaign");
        }
        (self.work.run)(&campaign, arguments, ctx)
    }
}
