//! The tools: each file in `tools/` declares one or two of them and does their work; this one gives them their seats.
//!
//! A tool is a [`Spec`]: what is published of it, and plain functions on a campaign that runs. Which campaign is meant,
//! whether it has begun and whether it can still be steered is settled here, before any of these functions is called.

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
mod whole;

use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, Code, Constraints, Contract, ContractError, Definition, Example, Output,
    SideEffects, Tool, ToolError, Violation,
};
use serde_json::{Value, json};

use crate::running::Running;
use crate::schema::Schemas;
use crate::seat::Seat;

pub(crate) use read_logs::told as last_events;
pub(crate) use show_coverage::shown as coverage_shown;
pub use target::PROTOCOL_VERSION;

/// Calls a minute that each caller may make.
const RATE: u32 = 600;
/// What every answer is due in, however busy the campaign keeps the machine.
const TIME: Duration = Duration::from_millis(100);
/// The same for tools that run contracts or wait for the campaign.
const LONG_TIME: Duration = Duration::from_secs(2);

/// What is published of a tool, and what it does.
struct Spec {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    schemas: Schemas,
    constraints: Constraints,
    examples: Vec<Example>,
    /// Beyond those that every tool of the pack can answer.
    errors: &'static [Code],
    /// It tells the workers what to do, which it cannot once the campaign has ended.
    steers: bool,
    /// Rules that no schema can say.
    check: fn(&Running, &Value) -> Result<(), ToolError>,
    run: fn(&Running, Value, &CallContext) -> Result<Output, ToolError>,
    reword: fn(&Violation) -> Option<ToolError>,
}

impl Spec {
    /// A tool that only looks and has no rules beyond its schema. Others say what differs.
    fn new(
        name: &'static str,
        schemas: Schemas,
        run: fn(&Running, Value, &CallContext) -> Result<Output, ToolError>,
    ) -> Self {
        Self {
            name,
            title: "",
            description: "",
            schemas,
            constraints: reads(),
            examples: Vec::new(),
            errors: &[],
            steers: false,
            check: |_, _| Ok(()),
            run,
            reword: |_| None,
        }
    }

    fn publish(self, handles: &[&str]) -> Result<(Contract, Work), ContractError> {
        let Self { check, run, reword, steers, mut examples, mut schemas, .. } = self;
        if let [first, _, ..] = handles {
            schemas = schemas.with_campaign(handles);
            for example in &mut examples {
                example.input["campaign"] = json!(first);
            }
        }
        let definition = Definition {
            name: self.name.into(),
            title: Some(self.title.into()),
            description: Some(self.description.into()),
            input_schema: Some(schemas.input),
            output_schema: Some(schemas.output),
            constraints: Some(self.constraints),
            examples,
            ..Definition::default()
        };
        let every = [
            Code::InvalidInput,
            Code::UpstreamUnavailable,
            Code::ExecutionTimeout,
            Code::InternalError,
        ];
        let errors: Vec<Code> = every.iter().chain(self.errors).copied().collect();
        Ok((Contract::new(definition, &errors)?, Work { check, run, reword, steers }))
    }
}

pub(crate) fn reads() -> Constraints {
    Constraints {
        access: "the campaign of this server, which it does not disturb".into(),
        rate_per_minute: RATE,
        timeout: TIME,
        ..Constraints::default()
    }
}

/// No approval is asked for unless the operator's policy says so.
fn steering(side_effects: SideEffects) -> Constraints {
    let access = "the campaign of this server, which it steers".into();
    Constraints { access, side_effects, ..reads() }
}

fn example(title: &str, input: Value, output: Value) -> Example {
    Example { title: Some(title.into()), input, output: Some(output) }
}

fn invalid(field: &str, message: impl Into<String>) -> ToolError {
    ToolError::new(Code::InvalidInput, message).with("field", field)
}

/// The nine of the contract first, in its order.
pub(crate) fn all(seats: &Arc<[Arc<Seat>]>) -> Result<Vec<Arc<dyn Tool>>, ContractError> {
    let specs = [
        read_logs::spec(),
        show_coverage::spec(),
        dump_lcov::spec(),
        inspect_corpus::size_spec(),
        inspect_corpus::spec(),
        find_transaction::spec(),
        inject::spec(),
        prioritize::spec(),
        clear_priorities::spec(),
        status::spec(),
        target::spec(),
        source_coverage::spec(),
        reproducer::spec(),
        execute_sequence::spec(),
        sample::spec(),
        pause::pause_spec(),
        pause::resume_spec(),
    ];
    let seated =
        |spec| Seated::new(spec, Arc::clone(seats)).map(|tool| Arc::new(tool) as Arc<dyn Tool>);
    specs.into_iter().map(seated).collect()
}

/// The functions of a [`Spec`].
struct Work {
    check: fn(&Running, &Value) -> Result<(), ToolError>,
    run: fn(&Running, Value, &CallContext) -> Result<Output, ToolError>,
    reword: fn(&Violation) -> Option<ToolError>,
    steers: bool,
}

/// A tool with the campaigns that it can be asked about.
struct Seated {
    contract: Arc<Contract>,
    work: Work,
    seats: Arc<[Arc<Seat>]>,
}

impl Seated {
    fn new(spec: Spec, seats: Arc<[Arc<Seat>]>) -> Result<Self, ContractError> {
        let handles: Vec<&str> = seats.iter().map(|seat| seat.handle()).collect();
        let (contract, work) = spec.publish(&handles)?;
        let contract = Arc::new(contract);
        Ok(Self { contract, work, seats })
    }

    /// The campaign that is meant.
    fn seat(&self, arguments: &Value) -> Result<&Seat, ToolError> {
        let seat = match &*self.seats {
            [only] => Some(only),
            seats => {
                let handle = arguments.get("campaign").and_then(Value::as_str);
                seats.iter().find(|seat| Some(seat.handle()) == handle)
            }
        };
        // The schema lets no other handle through; a pack without seats has nothing to tell.
        let nobody = || ToolError::new(Code::NotFound, "this server has no such campaign");
        seat.map(Arc::as_ref).ok_or_else(nobody)
    }

    /// What a tool without parameters says: a schema without any has no name for those that it got.
    fn takes_nothing(&self) -> Option<ToolError> {
        let Contract { name, input, .. } = &*self.contract;
        let has_parameters =
            input.as_value()["properties"].as_object().is_some_and(|it| !it.is_empty());
        let message = || format!("`{name}` takes no parameters; call it with {{}}");
        (!has_parameters).then(|| ToolError::new(Code::InvalidInput, message()))
    }

    fn running(&self, arguments: &Value) -> Result<Arc<Running>, ToolError> {
        let running = self.seat(arguments)?.running()?;
        if self.work.steers {
            running.check_steerable()?;
        }
        Ok(running)
    }
}

impl Tool for Seated {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn reword(&self, violation: &Violation) -> Option<ToolError> {
        (self.work.reword)(violation).or_else(|| self.takes_nothing())
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        let running = self.running(arguments)?;
        (self.work.check)(&running, arguments)
    }

    fn call(&self, mut arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
        // Asked again: the campaign may have ended while a person decided.
        let running = self.running(&arguments)?;
        if let Some(map) = arguments.as_object_mut() {
            map.remove("campaign");
        }
        (self.work.run)(&running, arguments, ctx)
    }
}
