//! Maps executed EVM bytecode to line and branch coverage of Solidity source, and renders coverage reports.
//!
//! The caller executes bytecode and passes the recorded [`CodeHits`]. [`CoverageReport::new`] interprets them with the
//! compiler's source maps and ASTs. [`render_lcov`], [`annotate_sources`] and [`render_html`] format the report. This
//! crate does not execute code, read files or print.
//!
//! It is our own because source maps alone give wrong counts for optimized code; here they are checked against the
//! syntax tree and the control flow.
//!
//! # Counting
//!
//! A *unit* is the smallest part of the source with its own hit count: a simple statement, the condition of an `if` or
//! a loop, each part in the header of a `for`, the initial value of a state variable, or an assembly statement.
//! Its count is the number of times control *arrived* at it: the executions of the first instruction of each copy,
//! summed over all copies and all contracts. The body of a modifier has one copy in each function that uses it.
//! Returning to a statement from a call that it made is not another arrival.
//!
//! The hit count of a line is the highest count of the units that begin on it. The line of a `for` therefore shows the
//! number of times its condition was evaluated. Continuation lines of a long statement have no count. A unit is counted
//! even if it then reverts. To verify a count independently, insert a marker before the statement and count how often
//! the marker runs.
//!
//! Branches are the two outcomes of `if`, `?:`, `&&`, `||`, `require`, `assert` and loop conditions. Checks inserted by
//! the compiler are not branches.
//!
//! # Omissions
//!
//! Optimizers drop, merge and move instructions, and their source maps become imprecise. A unit is reported only if the
//! bytecode is consistent with it (see `control_flow` and `tally`): control must reach its instructions from a point
//! that the AST allows. Units without instructions, blocks shared by several statements, and statements with displaced
//! instructions are omitted from the report. They are neither hits nor misses. A line is omitted if its highest
//! count is unknown, and a function if the count of its first statement is unknown. The set of reported lines and
//! branches depends on the bytecode alone, never on the execution.

mod annotate;
mod branches;
mod bytecode;
mod control_flow;
mod hits;
mod html;
mod lcov;
mod line_index;
mod owners;
mod report;
mod statement_tree;
mod tally;

pub use annotate::annotate_sources;
pub use hits::{CodeHits, CodeSection, EdgeHit};
pub use html::render_html;
pub use lcov::render_lcov;
pub use report::{
    BranchCoverage, BranchOutcome, ContractReport, CoverageRatio, CoverageReport, FileReport,
    FunctionCoverage,
};
