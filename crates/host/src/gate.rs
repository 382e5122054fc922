//! The gates of an ask, one module each. Gate 5 is in [`crate::summary`].

pub mod allow;
pub mod answer;
pub mod input;
pub mod plan;
pub mod resolve;
pub mod single_call;
pub mod vetted_call;

/// A gate of an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AskGate {
    Input,
    Plan,
    Resolve,
    Allow,
    Answer,
    Summary,
    SingleCall,
}

impl AskGate {
    pub const ALL: [Self; 7] = [
        Self::Input,
        Self::Plan,
        Self::Resolve,
        Self::Allow,
        Self::Answer,
        Self::Summary,
        Self::SingleCall,
    ];

    /// Returns the number of the gate in the trace.
    pub fn number(self) -> u8 {
        match self {
            Self::Input => 0,
            Self::Plan => 1,
            Self::Resolve => 2,
            Self::Allow => 3,
            Self::Answer => 4,
            Self::Summary => 5,
            Self::SingleCall => 6,
        }
    }

    /// Returns the name of the gate in the trace.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input policy",
            Self::Plan => "one plan",
            Self::Resolve => "known tool",
            Self::Allow => "allowed tool",
            Self::Answer => "kept contract",
            Self::Summary => "grounded summary",
            Self::SingleCall => "one call",
        }
    }
}
