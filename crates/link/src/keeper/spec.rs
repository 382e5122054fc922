//! What we tell the keeper, and what it tells us if the server cannot be started.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::PathBuf;

use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::{LinkError, Program, Sandbox};

/// The length of the spec in decimal digits, and a line end.
const HEADER: usize = 11;
const MAX_SPEC: usize = 16 * 1024 * 1024;
const SHOWN_REASON: usize = 600;

#[derive(Serialize, Deserialize)]
pub(crate) struct Spec {
    /// Repeated by a complaint. The server, which writes to the same output, never sees it.
    pub(super) nonce: String,
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) folder: PathBuf,
    pub(super) sandbox: Sandbox,
}

impl Spec {
    pub(crate) fn of(program: &Program, nonce: String) -> Self {
        Self {
            nonce,
            command: program.command.clone(),
            args: program.args.clone(),
            env: program
                .env
                .iter()
                .map(|(name, value)| (name.clone(), value.expose_secret().to_owned()))
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

/// Why there is no server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Complaint {
    Sandbox(String),
    Program(String),
}

/// The first line of output, where there is no server to write it.
#[derive(Serialize, Deserialize)]
struct FirstLine<'a> {
    #[serde(rename = "vouch-keeper")]
    nonce: Cow<'a, str>,
    #[serde(flatten)]
    complaint: Complaint,
}

impl Complaint {
    /// None: the server's own.
    pub(crate) fn read(line: &[u8], nonce: &str) -> Option<Self> {
        if !line.starts_with(b"{\"vouch-keeper\":") {
            return None;
        }
        let line: FirstLine<'_> = serde_json::from_slice(line).ok()?;
        (line.nonce == nonce).then_some(line.complaint)
    }

    pub(super) fn into_line(self, nonce: &str) -> Vec<u8> {
        let line = FirstLine { nonce: nonce.into(), complaint: self };
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        line
    }

    pub(super) fn reason(&self) -> &str {
        let (Self::Sandbox(reason) | Self::Program(reason)) = self;
        reason
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
