//! Resolves addresses, selectors and topics to the names of the build.

use std::collections::HashMap;

use alloy_primitives::{Address, B256, keccak256};

use crate::abi::{AbiType, UnknownAbiType};
use crate::chain::{
    CHEATCODE_ADDRESS, CallFrame, CodePart, FrameKind, SUPPORTED_CHEATCODES, WatchedEvent,
};
use crate::target::FuzzTarget;

/// Ethereum's precompiles, by address from 1 on.
const PRECOMPILES: [&str; 10] = [
    "ecrecover",
    "sha256",
    "ripemd160",
    "identity",
    "modexp",
    "ecadd",
    "ecmul",
    "ecpairing",
    "blake2f",
    "pointEvaluation",
];

/// A function or an error.
#[derive(Clone, Debug)]
pub(super) struct AbiSignature {
    pub(super) name: String,
    pub(super) inputs: Vec<AbiType>,
    pub(super) outputs: Vec<AbiType>,
}

/// An event; the flags mark its indexed values.
#[derive(Clone, Debug)]
pub(super) struct EventSignature {
    pub(super) name: String,
    pub(super) inputs: Vec<(AbiType, bool)>,
}

/// Signatures by selector, each with the index of the contract that declares it.
type SignatureTable = HashMap<[u8; 4], Vec<(usize, AbiSignature)>>;

/// Resolver of names from the build's ABIs.
pub(super) struct NameResolver<'a> {
    target: &'a FuzzTarget,
    /// Indices into the build's contracts.
    contracts: HashMap<Address, usize>,
    functions: SignatureTable,
    errors: SignatureTable,
    /// Events by topic, like functions; indexed parameters do not change the topic.
    events: HashMap<B256, Vec<(usize, EventSignature)>>,
    cheats: HashMap<[u8; 4], AbiSignature>,
}

impl<'a> NameResolver<'a> {
    pub(super) fn new(target: &'a FuzzTarget) -> Self {
        let (mut functions, mut errors) = (SignatureTable::new(), SignatureTable::new());
        let mut events: HashMap<_, Vec<_>> = HashMap::new();
        // An unknown type only leaves its function without a name.
        for (index, contract) in target.build.contracts.iter().enumerate() {
            for it in contract.abi.functions() {
                let types =
                    |params: &[_]| params.iter().map(AbiType::from_param).collect::<Result<_, _>>();
                if let (Ok(inputs), Ok(outputs)) = (types(&it.inputs), types(&it.outputs)) {
                    let signature = AbiSignature { name: it.name.clone(), inputs, outputs };
                    functions.entry(it.selector().0).or_default().push((index, signature));
                }
            }
            for it in contract.abi.errors() {
                if let Ok(inputs) = it.inputs.iter().map(AbiType::from_param).collect() {
                    let signature = AbiSignature { name: it.name.clone(), inputs, outputs: vec![] };
                    errors.entry(it.selector().0).or_default().push((index, signature));
                }
            }
            for it in contract.abi.events().filter(|it| !it.anonymous) {
                let input =
                    |(ty, is_indexed): (String, bool)| Ok((AbiType::parse(&ty)?, is_indexed));
                let inputs = it.inputs.iter();
                let inputs = inputs.map(|it| input((it.selector_type().into_owned(), it.indexed)));
                if let Ok(inputs) = inputs.collect::<Result<_, UnknownAbiType>>() {
                    let event = EventSignature { name: it.name.clone(), inputs };
                    events.entry(it.selector()).or_default().push((index, event));
                }
            }
        }
        // Contracts that sequences create have no address yet.
        let deployed = target.contracts.iter().filter(|it| !it.address.is_zero());
        let deployed = deployed.map(|it| (it.address, it.contract));
        Self {
            target,
            contracts: deployed.collect(),
            functions,
            errors,
            events,
            cheats: cheatcode_signatures(),
        }
    }

    /// Records the contracts that the frames created.
    pub(super) fn record_created(&mut self, frames: &[CallFrame]) {
        for frame in frames {
            if let (Some(address), Some(index)) = (frame.to, self.created_contract(frame)) {
                self.contracts.insert(address, index);
            }
        }
    }

    /// Returns the build index of the contract that the frame creates.
    fn created_contract(&self, frame: &CallFrame) -> Option<usize> {
        if !matches!(frame.kind, FrameKind::Create | FrameKind::Create2) {
            return None;
        }
        let code = self.target.codes.find_code(CodePart::Creation, &frame.input)?;
        Some(self.target.codes.entries()[code].contract)
    }

    /// Returns the name of the contract whose code a frame runs.
    pub(super) fn contract_name(&self, frame: &CallFrame) -> Option<String> {
        let name = |index: usize| self.target.build.contracts[index].name.clone();
        self.created_contract(frame).map(name).or_else(|| self.name_at(frame.code.or(frame.to)?))
    }

    /// Returns the name of the contract at an address.
    pub(super) fn name_at(&self, address: Address) -> Option<String> {
        if address == CHEATCODE_ADDRESS {
            return Some("vm".to_owned());
        }
        if let Some(index) = self.contracts.get(&address) {
            return Some(self.target.build.contracts[*index].name.clone());
        }
        let (last, zeros) = address.as_slice().split_last()?;
        let number = usize::from(*last).checked_sub(1).filter(|_| zeros.iter().all(|it| *it == 0));
        PRECOMPILES.get(number?).map(|name| (*name).to_owned())
    }

    pub(super) fn find_function(&self, frame: &CallFrame) -> Option<&AbiSignature> {
        if matches!(frame.kind, FrameKind::Create | FrameKind::Create2) {
            return None;
        }
        let address = frame.code.or(frame.to)?;
        let selector = frame.input.first_chunk()?;
        // An interface in the build also declares the return type of a cheat code.
        let declared = self.find_best(&self.functions, address, selector);
        declared.or_else(|| self.cheats.get(selector).filter(|_| address == CHEATCODE_ADDRESS))
    }

    /// Finds the error with this selector, preferably of the contract at the address.
    pub(super) fn find_error(&self, at: Address, selector: &[u8; 4]) -> Option<&AbiSignature> {
        self.find_best(&self.errors, at, selector)
    }

    /// Finds an event with the same number of indexed values: two standards may share a topic but differ in that.
    pub(super) fn find_event(&self, emitted: &WatchedEvent) -> Option<&EventSignature> {
        let indexes = |event: &EventSignature| event.inputs.iter().filter(|(_, it)| *it).count();
        let all = self.events.get(&emitted.topic)?.iter();
        let fitting = all.filter(|(_, event)| indexes(event) == emitted.indexed.len());
        let here = self.contracts.get(&emitted.address);
        fitting.min_by_key(|(index, _)| Some(index) != here).map(|(_, event)| event)
    }

    /// Returns the topics of all named events.
    pub(super) fn topics(&self) -> Vec<B256> {
        self.events.keys().copied().collect()
    }

    /// Prefers the contract at the address, then any other: a proxy forwards functions that it does not declare.
    fn find_best<'t>(
        &self,
        table: &'t SignatureTable,
        at: Address,
        selector: &[u8; 4],
    ) -> Option<&'t AbiSignature> {
        let all = table.get(selector)?;
        let here = self.contracts.get(&at);
        let own = all.iter().find(|(index, _)| Some(index) == here);
        own.or(all.first()).map(|(_, signature)| signature)
    }
}

fn cheatcode_signatures() -> HashMap<[u8; 4], AbiSignature> {
    let known = SUPPORTED_CHEATCODES.iter().filter_map(|signature| {
        let (name, types) = signature.split_at_checked(signature.find('(')?)?;
        let Ok(AbiType::Tuple(inputs)) = AbiType::parse(types) else { return None };
        let signature_hash = keccak256(signature);
        let parsed = AbiSignature { name: name.to_owned(), inputs, outputs: Vec::new() };
        Some((*signature_hash.first_chunk()?, parsed))
    });
    known.collect()
}
