//! What calls do, for people and agents to read: every frame with its names and values, what came back, the events.
//!
//! [`Tracer`] makes calls on a chain of its own (`tracer`); `decode` says what each of their frames means, with the names
//! that `names` knows from the build, and `lines` writes it as a tree. Nothing here prints, and nothing makes text safe for
//! a terminal: names and strings are as the contracts have them.

mod decode;
mod lines;
mod names;
mod tracer;

pub use decode::{End, Event, Told, Trace};
pub use lines::{Line, Tone};
pub use tracer::{CALL_TIME, Done, Traced, Tracer};

use crate::call::Call;
use crate::config::Settings;
use crate::target::Target;

/// Makes the calls one after the other on the first state, and tells what each did.
pub fn run(target: &Target, settings: &Settings, calls: &[Call]) -> Vec<Traced> {
    let mut tracer = Tracer::new(target, settings, CALL_TIME);
    calls.iter().map(|call| tracer.call(call)).collect()
}
