//! The gates that an ask passes, each in a module of its own. Gate 5 is [`crate::summary`].

pub mod allow;
pub mod answer;
pub mod input;
pub mod once;
pub mod plan;
pub mod resolve;
pub mod vetted;

/// Which gate; its number is the one of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Gate {
    Input,
    Plan,
    Resolve,
    Allow,
    Answer,
    Summary,
    Once,
}

impl Gate {
    pub const ALL: [Self; 7] = [
        Self::Input,
        Self::Plan,
        Self::Resolve,
        Self::Allow,
        Self::Answer,
        Self::Summary,
        Self::Once,
    ];

    pub fn number(self) -> u8 {
        match self {
            Self::Input => 0,
            Self::Plan => 1,
            Self::Resolve => 2,
            Self::Allow => 3,
            Self::Answer => 4,
            Self::Summary => 5,
            Self::Once => 6,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input policy",
            Self::Plan => "one plan",
            Self::Resolve => "known tool",
            Self::Allow => "allowed tool",
            Self::Answer => "kept contract",
            Self::Summary => "grounded summary",
            Self::Once => "one call",
        }
    }
}
