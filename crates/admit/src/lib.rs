//! Decides which tools of an upstream server may run, and under which contract.
//!
//! [`admit_tools`] processes each entry of a `tools/list`: it lints the definition ([`lint`]), applies the operator's
//! [`Overlay`], compares the result with the definition admitted before ([`PinSet`]) and returns one [`ToolAdmission`]
//! per tool with its status and reasons. [`learn`] drafts an overlay from real answers. [`conformance`] turns an
//! admission into a report.
//!
//! This crate is pure: it reads no files, no clock and no connection. Callers pass values in and write values out. Any
//! JSON is accepted as input without a panic, in time linear in its size. Steps that could cost more, such as the line
//! diff, are bounded. Start reading at [`admit_tools`].

mod admission;
mod allowlist;
mod assess;
mod change;
pub mod conformance;
mod copies;
mod decide;
mod definition;
pub mod learn;
mod limits;
mod overlay;
mod pins;
mod policy;
mod reason;

pub use admission::{Admission, ToolAdmission, ToolStatus, admit_tools, readmit_tools};
pub use allowlist::{AllowlistError, ToolAllowlist};
pub use change::{ChangeClass, ToolDefinitionChange, classify_change};
pub use definition::digest_definition;
pub use overlay::{Overlay, OverlayError, OverlayLimits, ResultMode, structure_answer};
pub use pins::{
    AcceptedDefinition, PendingDefinition, PinBaseline, PinSet, PinSetError, PinState, ToolPin,
    UpstreamPins,
};
pub use policy::{AdmissionMode, AdmissionPolicy, UpstreamIdentity, is_overlay_file_name};
pub use reason::{AdmissionReason, AdmissionRule, admission_rules};
