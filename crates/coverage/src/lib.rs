//! From counts of executed EVM code to lines and branches of Solidity source, and reports of them.
//!
//! Someone who executes code hands in [`CodeHits`]; [`Report::new`] reads them with the compiler's source maps and
//! syntax trees; [`lcov`], [`annotate`] and [`html`] write the report down. Nothing here executes code, reads a file
//! or prints.
//!
//! It is our own because source maps alone give wrong counts for optimized code; here they are checked against the
//! syntax tree and the control flow.
//!
//! # What is counted
//!
//! A *unit* is the smallest piece of source that has a count of its own: a simple statement, the condition of an `if`
//! or of a loop, the parts in the head of a `for`, the initial value of a state variable, a statement of assembly.
//! Its count says how often control *came to* it: the executions of the first instruction of each copy of it
//! (the body of a modifier has a copy in each function that uses it), summed over all copies and all contracts.
//! Coming back to a statement from a call that it made is not coming to it again.
//!
//! A line's count is the highest count of the units that begin on it. So the line of a `for` says how often its
//! condition was evaluated, and the further lines of a long statement say nothing. A unit is counted even if it then
//! reverts. To check a count by other means, put a marker in front of the statement and count how often that runs.
//!
//! Branches are the two outcomes of `if`, `?:`, `&&`, `||`, `require`, `assert` and of conditions of loops;
//! the checks that the compiler adds by itself are none.
//!
//! # What is left out
//!
//! Optimisers drop, merge and move instructions, and source maps follow them badly. A unit is told only if the code
//! bears it out (see `flow` and `tally`): control must reach its instructions from where the syntax tree says that it
//! can. A unit without instructions, a block that several statements share, or a statement whose instructions ended up
//! elsewhere is left out of the report altogether. It is neither a hit nor a miss. A line is left out if the highest
//! count on it cannot be told, a function if that of its first statement cannot. Which lines and branches a report has
//! depends on the code alone, never on what ran.

mod annotate;
mod branches;
mod code;
mod flow;
mod hits;
mod html;
mod lcov;
mod lines;
mod places;
mod report;
mod tally;
mod tree;

pub use annotate::annotate;
pub use hits::{CodeHits, Edge, Part};
pub use html::html;
pub use lcov::lcov;
pub use report::{Branch, ContractReport, FileReport, Function, Outcome, Ratio, Report};
