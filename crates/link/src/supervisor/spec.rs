//! Messages between this process and the supervisor: the spec of a server, and the failure to start it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::PathBuf;

use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use crate::context::ConnectionContext;
use crate::{ConnectionError, SandboxPolicy, StdioProgram};

/// Size of the header: the length of the spec in ten decimal digits, and a line end.
const HEADER_BYTES: usize = 11;
const MAX_SPEC_BYTES: usize = 16 * 1024 * 1024;
const MAX_SHOWN_REASON: usize = 600;

/// Specification of the server to start.
#[derive(Serialize, Deserialize)]
pub(crate) struct SupervisorSpec {
    /// Repeated in a failure line. The server writes to the same output but never sees the nonce.
    pub(super) nonce: String,
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) folder: PathBuf,
    pub(super) sandbox: SandboxPolicy,
}

impl SupervisorSpec {
    pub(crate) fn from_program(program: &StdioProgram, nonce: String) -> Self {
        Self {
            nonce,
            command: program.command.clone(),
            args: program.args.clone(),
            env: program
                .env
                .iter()
                .map(|(name, value)| (name.clone(), value.expose_secret().to_owned()))
                .filter_map(|(name, value)| match name == "PATH" {
                    true => Some((name, absolute_folders(&value)?)),
                    false => Some((name, value)),
                })
                .collect(),
            folder: program.folder.clone(),
            sandbox: program.sandbox.clone(),
        }
    }

    /// Returns the header and the spec as JSON.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).unwrap_or_default();
        let mut out = format!("{:010}\n", json.len()).into_bytes();
        out.extend_from_slice(&json);
        out
    }

    /// Reads a spec. Does not read beyond it: the rest of the input belongs to the server.
    pub(super) fn read_from(mut from: impl Read) -> io::Result<Self> {
        let mut header = [0; HEADER_BYTES];
        from.read_exact(&mut header)?;
        let length = str::from_utf8(&header).ok().and_then(|text| text.trim_end().parse().ok());
        let length: usize =
            length.filter(|length| *length <= MAX_SPEC_BYTES).ok_or(io::ErrorKind::InvalidData)?;
        let mut json = vec![0; length];
        from.read_exact(&mut json)?;
        serde_json::from_slice(&json).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

/// Returns a search path without its relative and empty folders, or `None` if no folder is left. Such a folder would let
/// the server's working directory, often a project, replace the programs that the server starts.
fn absolute_folders(path: &str) -> Option<String> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let joined = std::env::join_paths(folders).ok()?.into_string().ok()?;
    Some(joined).filter(|joined| !joined.is_empty())
}

/// Reason that the server was not started.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StartFailure {
    Sandbox(String),
    Program(String),
}

/// The first line of output, if the server was not started.
#[derive(Serialize, Deserialize)]
struct StartFailureLine<'a> {
    #[serde(rename = "vouch-keeper")]
    nonce: Cow<'a, str>,
    #[serde(flatten)]
    complaint: StartFailure,
}

impl StartFailure {
    /// Parses a line of output. Returns `None` if it was written by the server.
    pub(crate) fn parse_line(line: &[u8], nonce: &str) -> Option<Self> {
        if !line.starts_with(b"{\"vouch-keeper\":") {
            return None;
        }
        let line: StartFailureLine<'_> = serde_json::from_slice(line).ok()?;
        (line.nonce == nonce).then_some(line.complaint)
    }

    /// Returns the line of output that reports this failure.
    pub(super) fn into_line(self, nonce: &str) -> Vec<u8> {
        let line = StartFailureLine { nonce: nonce.into(), complaint: self };
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        line
    }

    pub(super) fn reason(&self) -> &str {
        let (Self::Sandbox(reason) | Self::Program(reason)) = self;
        reason
    }

    pub(crate) fn into_error(self, context: &ConnectionContext) -> ConnectionError {
        match self {
            Self::Sandbox(reason) => ConnectionError::SandboxUnavailable {
                reason: context.sanitize_text(&reason, MAX_SHOWN_REASON),
            },
            Self::Program(reason) => ConnectionError::StartFailed {
                reason: context.sanitize_text(&reason, MAX_SHOWN_REASON),
            },
        }
    }
}
