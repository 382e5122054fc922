//! What is fuzzed: compiled or read, the contract chosen, deployed.

use std::sync::Arc;

use ::fuzz::deploy::{ChooseError, DeployError, choose_contract, deploy, find_contract};
use ::fuzz::target::Target;
use solidity::LoadError;

use super::demo;
use super::plan::Plan;
use crate::config::suggest;
use crate::failure::FailureKind;
use crate::failure::{Failure, Result};

/// Names that an error lists.
const MAX_NAMES: usize = 20;

/// The contract under test, on its chain.
pub struct Subject {
    pub target: Arc<Target>,
    /// Its place in the build.
    pub contract: usize,
    pub name: String,
    /// It came with the program: its source is on no disk.
    pub is_bundled: bool,
}

impl Subject {
    /// Compiles or reads the build, chooses the contract and deploys it.
    pub fn load(plan: &Plan) -> Result<Self> {
        let build = match &plan.path {
            Some(path) => solidity::load(path, &plan.toolchain).map_err(not_loaded)?,
            None => demo::build()?,
        };
        let contract = match &plan.contract {
            Some(name) => find_contract(&build, name),
            None => choose_contract(&build, plan.path.as_deref(), &plan.settings),
        };
        let contract = contract.map_err(not_chosen)?;
        let name = build.contracts[contract].name.clone();
        let target = deploy(Arc::new(build), contract, &plan.settings)
            .map_err(|it| not_deployed(it, plan))?;
        Ok(Self { target: Arc::new(target), contract, name, is_bundled: plan.path.is_none() })
    }
}

fn not_loaded(error: LoadError) -> Failure {
    let exit = match &error {
        LoadError::Tool(_) | LoadError::Unreadable { .. } => FailureKind::Operation,
        _ => FailureKind::Usage,
    };
    let hint = match &error {
        LoadError::Missing(_) => Some(
            "give the path of a .sol file, a project or a compiler's JSON; `vouch fuzz --demo` needs none"
                .to_owned(),
        ),
        LoadError::Compile { .. } => {
            Some("correct the source, or compile it otherwise: --solc PATH, --solc-args ARGS".to_owned())
        }
        LoadError::Tool(error) => error.hint().or_else(|| {
            Some("name another compiler with --solc PATH, or install one: vouch solc install".to_owned())
        }),
        error => error.hint(),
    };
    let hint = hint.unwrap_or_else(|| "`vouch fuzz --help` says what can be fuzzed".to_owned());
    Failure::from(error).with_hint(hint).with_kind(exit)
}

fn not_chosen(error: ChooseError) -> Failure {
    let hint = match &error {
        ChooseError::Unknown { name, known } => {
            let known: Vec<_> = known.iter().take(MAX_NAMES).map(String::as_str).collect();
            suggest(name, &known, "contracts")
        }
        ChooseError::Ambiguous { choices, .. } => {
            format!("say the file as well: {}", list(choices))
        }
        ChooseError::NotDeployable => {
            "interfaces and abstract contracts cannot be fuzzed: write a contract that inherits"
                .to_owned()
        }
        ChooseError::Unclear { choices } => {
            format!("choose one with --contract: {}", list(choices))
        }
    };
    Failure::from(error).with_kind(FailureKind::Usage).with_hint(hint)
}

fn list(names: &[String]) -> String {
    let mut shown: Vec<_> = names.iter().take(MAX_NAMES).cloned().collect();
    if names.len() > MAX_NAMES {
        shown.push(format!("and {} more", names.len() - MAX_NAMES));
    }
    shown.join(", ")
}

fn not_deployed(error: DeployError, plan: &Plan) -> Failure {
    let hint = match &error {
        DeployError::Abstract(_) => "choose another contract with --contract NAME",
        DeployError::NoSuchContract(_) => "correct its name in `deployContracts`",
        DeployError::Arguments { .. } | DeployError::Argument { .. } => {
            "set `constructorArgs` in echidna.yaml, such as [\"1 ether\", \"0x10000\"]"
        }
        DeployError::Constructor { .. } => {
            "give it what it needs: `constructorArgs`, `balanceContract` or `deployContracts` in echidna.yaml"
        }
        DeployError::TooLarge { .. } => {
            "raise the limit with --code-size, or compile with --solc-args --optimize"
        }
        DeployError::Unlinked { .. } => "compile the library together with the contract",
        DeployError::SetUp { .. } => {
            "see what setUp() needs; it is called once by the deployer, without value"
        }
        DeployError::Mismatch { .. } => "compile again, so that ABI and code belong together",
        DeployError::NoTest { .. } => {
            "correct the function, rename it, or choose another prefix: --prefix TEXT"
        }
        DeployError::NoTests { .. } => {
            "add such a function, or look for something else: --test-mode assertion"
        }
        DeployError::NoFunctions { .. } => {
            "see `filterFunctions` and `excludeViewPure` in echidna.yaml, or use --all-contracts"
        }
        DeployError::Type { .. } => {
            "functions with such an argument cannot be called: leave them out of the ABI"
        }
    };
    let failure = Failure::from(error).with_hint(hint).with_kind(FailureKind::Usage);
    match plan.contract.is_none() && plan.path.is_some() {
        true => failure.with_hint("if another contract was meant: --contract NAME"),
        false => failure,
    }
}
