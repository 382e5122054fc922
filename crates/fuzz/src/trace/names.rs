//! What addresses, selectors and topics mean: the names of contracts, functions, errors and events of the build.

use std::collections::HashMap;

use alloy_primitives::{Address, B256, keccak256};

use crate::abi::{Type, UnknownType};
use crate::chain::{CHEATS, Emitted, Frame, FrameKind, Part, SUPPORTED};
use crate::target::Target;

/// Contracts of the chain itself, by address from 1 on.
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
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) inputs: Vec<Type>,
    pub(super) outputs: Vec<Type>,
}

/// An event, and which of its values are only in its topics.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) inputs: Vec<(Type, bool)>,
}

/// Those of the same selector, each with the contract that declares it.
type Table = HashMap<[u8; 4], Vec<(usize, Signature)>>;

pub(super) struct Names<'a> {
    target: &'a Target,
    /// Places in the build.
    contracts: HashMap<Address, usize>,
    functions: Table,
    errors: Table,
    /// As functions; what is indexed makes no difference to the topic.
    events: HashMap<B256, Vec<(usize, Event)>>,
    cheats: HashMap<[u8; 4], Signature>,
}

impl<'a> Names<'a> {
    pub(super) fn new(target: &'a Target) -> Self {
        let (mut functions, mut errors) = (Table::new(), Table::new());
        let mut events: HashMap<_, Vec<_>> = HashMap::new();
        // A type that nobody knows leaves its function without a name, no more.
        for (place, contract) in target.build.contracts.iter().enumerate() {
            for it in contract.abi.functions() {
                let types = |params: &[_]| params.iter().map(Type::of).collect::<Result<_, _>>();
                if let (Ok(inputs), Ok(outputs)) = (types(&it.inputs), types(&it.outputs)) {
                    let signature = Signature { name: it.name.clone(), inputs, outputs };
                    functions.entry(it.selector().0).or_default().push((place, signature));
                }
            }
            for it in contract.abi.errors() {
                if let Ok(inputs) = it.inputs.iter().map(Type::of).collect() {
                    let signature = Signature { name: it.name.clone(), inputs, outputs: vec![] };
                    errors.entry(it.selector().0).or_default().push((place, signature));
                }
            }
            for it in contract.abi.events().filter(|it| !it.anonymous) {
                let input = |(ty, is_indexed): (String, bool)| Ok((Type::parse(&ty)?, is_indexed));
                let inputs = it.inputs.iter();
                let inputs = inputs.map(|it| input((it.selector_type().into_owned(), it.indexed)));
                if let Ok(inputs) = inputs.collect::<Result<_, UnknownType>>() {
                    let event = Event { name: it.name.clone(), inputs };
                    events.entry(it.selector()).or_default().push((place, event));
                }
            }
        }
        let deployed = target.contracts.iter().map(|it| (it.address, it.contract));
        Self { target, contracts: deployed.collect(), functions, errors, events, cheats: cheats() }
    }

    /// Takes note of the contracts that were created.
    pub(super) fn learn(&mut self, frames: &[Frame]) {
        for frame in frames {
            if let (Some(address), Some(place)) = (frame.to, self.created(frame)) {
                self.contracts.insert(address, place);
            }
        }
    }

    /// The place of the contract that the frame creates.
    fn created(&self, frame: &Frame) -> Option<usize> {
        if !matches!(frame.kind, FrameKind::Create | FrameKind::Create2) {
            return None;
        }
        let code = self.target.codes.find(Part::Creation, &frame.input)?;
        Some(self.target.codes.known()[code].contract)
    }

    /// The contract whose code a frame runs.
    pub(super) fn contract(&self, frame: &Frame) -> Option<String> {
        let of = |place: usize| self.target.build.contracts[place].name.clone();
        self.created(frame).map(of).or_else(|| self.at(frame.code.or(frame.to)?))
    }

    /// The contract at an address.
    pub(super) fn at(&self, address: Address) -> Option<String> {
        if address == CHEATS {
            return Some("vm".to_owned());
        }
        if let Some(place) = self.contracts.get(&address) {
            return Some(self.target.build.contracts[*place].name.clone());
        }
        let (last, zeros) = address.as_slice().split_last()?;
        let number = usize::from(*last).checked_sub(1).filter(|_| zeros.iter().all(|it| *it == 0));
        PRECOMPILES.get(number?).map(|name| (*name).to_owned())
    }

    pub(super) fn function(&self, frame: &Frame) -> Option<&Signature> {
        if matches!(frame.kind, FrameKind::Create | FrameKind::Create2) {
            return None;
        }
        let address = frame.code.or(frame.to)?;
        let selector = frame.input.first_chunk()?;
        // An interface of the build says what a cheat code returns, too.
        let declared = self.best(&self.functions, address, selector);
        declared.or_else(|| self.cheats.get(selector).filter(|_| address == CHEATS))
    }

    pub(super) fn error(&self, frame: &Frame) -> Option<&Signature> {
        let address = frame.code.or(frame.to).unwrap_or_default();
        self.best(&self.errors, address, frame.output.first_chunk()?)
    }

    /// Among those that index as many values: two standards may share a topic and differ in that.
    pub(super) fn event(&self, emitted: &Emitted) -> Option<&Event> {
        let indexes = |event: &Event| event.inputs.iter().filter(|(_, it)| *it).count();
        let all = self.events.get(&emitted.topic)?.iter();
        let fitting = all.filter(|(_, event)| indexes(event) == emitted.indexed.len());
        let here = self.contracts.get(&emitted.address);
        fitting.min_by_key(|(place, _)| Some(place) != here).map(|(_, event)| event)
    }

    /// Topics of all events that have a name.
    pub(super) fn topics(&self) -> Vec<B256> {
        self.events.keys().copied().collect()
    }

    /// What the contract at the address declares; else what any other does, since a proxy passes on what it does not know.
    fn best<'t>(&self, table: &'t Table, at: Address, selector: &[u8; 4]) -> Option<&'t Signature> {
        let all = table.get(selector)?;
        let here = self.contracts.get(&at);
        let own = all.iter().find(|(place, _)| Some(place) == here);
        own.or(all.first()).map(|(_, signature)| signature)
    }
}

fn cheats() -> HashMap<[u8; 4], Signature> {
    let known = SUPPORTED.iter().filter_map(|signature| {
        let (name, types) = signature.split_at_checked(signature.find('(')?)?;
        let Ok(Type::Tuple(inputs)) = Type::parse(types) else { return None };
        let signature_hash = keccak256(signature);
        let told = Signature { name: name.to_owned(), inputs, outputs: Vec::new() };
        Some((*signature_hash.first_chunk()?, told))
    });
    known.collect()
}
