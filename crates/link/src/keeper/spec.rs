//! What we tell the keeper, and what it tells us if the server cannot be started.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::{LinkError, Program, Sandbox};

/// The length of the spec in decimal digits, and a line end.
const HEADER: usize = 11;
const MAX_SPEC: usize = 16 * 1024 * 1024;
const SHOWN_REASON: usize = 600;

#[derive(Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) folder: PathBuf,
    pub(super) sandbox: Sandbox,
}

impl Spec {
    pub(crate) fn of(program: &Program) -> Self {
        Self {
            command: program.command.clone(),
            args: program.args.clone(),
            env: program
                .env
                .iter()
                .map(|(name, value)| (name.clone(), value.reveal().to_owned()))
                .collect(),
            folder: program.folder.clone(),
            sandbox: program.sandbox.clone(),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).unwrap_or_default();
        let mut out = format!("{:010}\n", json.len()).into_bytes();
        out.extend_from_slice(&json);
        out
    }

    /// Not a byte more than the spec is read: the rest is the server's.
    pub(super) fn read(mut from: impl Read) -> io::Result<Self> {
        let mut header = [0; HEADER];
        from.read_exact(&mut header)?;
        let length = str::from_utf8(&header).ok().and_then(|text| text.trim_end().parse().ok());
        let length: usize =
            length.filter(|length| *length <= MAX_SPEC).ok_or(io::ErrorKind::InvalidData)?;
        let mut json = vec![0; length];
        from.read_exact(&mut json)?;
        serde_json::from_slice(&json).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

/// The first line of output, where there is no server to write it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Complaint {
    #[serde(rename = "vouch-keeper:sandbox")]
    Sandbox(String),
    #[serde(rename = "vouch-keeper:program")]
    Program(String),
}

impl Complaint {
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        if !line.starts_with(b"{\"vouch-keeper:") {
            return None;
        }
        serde_json::from_slice(line).ok()
    }

    pub(super) fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    pub(crate) fn into_error(self, context: &Context) -> LinkError {
        match self {
            Self::Sandbox(reason) => {
                LinkError::SandboxUnavailable { reason: context.shown(&reason, SHOWN_REASON) }
            }
            Self::Program(reason) => {
                LinkError::Program { reason: context.shown(&reason, SHOWN_REASON) }
            }
        }
    }
}
