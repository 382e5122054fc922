//! Which tools of an upstream server may run, and under which contract.
//!
//! A server says what its tools are; nobody has to believe it. [`admit`] judges each entry of a `tools/list` by the
//! rules of [`lint`], puts the operator's [`Overlay`] over it, compares it with the definition that was
//! admitted before ([`Pins`]) and says for each tool whether it runs, and why not ([`Judged`]). [`learn`] drafts an
//! overlay from real answers.
//!
//! Everything here is pure: no file, no clock, no connection. Whoever holds those passes values in and writes values
//! out. Any JSON is judged without a panic and in time that grows with its size and no faster: what would cost more, such as
//! comparing lines, has a bound. Start reading at [`admit`].

mod admission;
mod allowlist;
mod assess;
mod change;
pub mod conformance;
mod copies;
mod decide;
pub mod learn;
mod limits;
mod overlay;
mod pins;
mod policy;
mod read;
mod reason;

pub use admission::{Admission, Judged, State, admit, readmit};
pub use allowlist::{Allowlist, AllowlistError};
pub use change::{Change, ChangeClass, classify};
pub use overlay::{Limits, Overlay, OverlayError, ResultMode, structure};
pub use pins::{Accepted, Baseline, Pending, Pin, PinState, Pins, PinsError, UpstreamPins};
pub use policy::{Mode, Policy, Upstream, is_file_name};
pub use read::digest_of;
pub use reason::{AdmissionRule, Reason, admission_rules};
