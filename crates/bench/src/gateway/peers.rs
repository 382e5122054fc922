//! Installs the gateways that ours is compared with, from their registry packages, into `target/bench-peers`.
//!
//! Deleting that folder is always safe. An unavailable peer is left out, with a message.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use xtask::command::{command, root, run};

const MCP_PROXY: &str = "0.6.0";
const SUPERGATEWAY: &str = "supergateway@4.0.0";
/// FastMCP 4.1.0 and all it needs, made by `pip freeze`.
const REQUIREMENTS: &str = "crates/bench/src/gateway/requirements.txt";

#[derive(Default)]
pub(super) struct GatewayPeers {
    /// The program.
    pub(super) mcp_proxy: Option<PathBuf>,
    /// Its script, for node.
    pub(super) supergateway: Option<PathBuf>,
    /// The interpreter that has FastMCP.
    pub(super) fastmcp: Option<PathBuf>,
}

impl GatewayPeers {
    pub(super) fn install() -> Result<Self> {
        let folder = root().join("target/bench-peers");
        fs::create_dir_all(&folder)?;
        Ok(Self {
            mcp_proxy: report_missing("mcp-proxy", install_mcp_proxy(&folder)),
            supergateway: report_missing("supergateway", install_supergateway(&folder)),
            fastmcp: report_missing("FastMCP", install_fastmcp(&folder)),
        })
    }
}

fn report_missing(name: &str, result: Result<PathBuf>) -> Option<PathBuf> {
    result.inspect_err(|error| println!("    left out: {name}: {error:#}")).ok()
}

fn install_mcp_proxy(folder: &Path) -> Result<PathBuf> {
    let program = folder.join("bin/mcp-proxy");
    if !program.exists() {
        let mut install = command("cargo", &["install", "mcp-proxy", "--locked", "--version"]);
        install.arg(MCP_PROXY).arg("--root").arg(folder);
        // A target folder of its own: it needs other versions of the same crates.
        install.env("CARGO_TARGET_DIR", folder.join("build"));
        run(install)?;
    }
    Ok(program)
}

fn install_supergateway(folder: &Path) -> Result<PathBuf> {
    let script = folder.join("node_modules/supergateway/dist/index.js");
    if !script.exists() {
        let mut install = command("npm", &["install", "--ignore-scripts", "--no-save"]);
        install.arg("--loglevel=error").arg("--prefix").arg(folder).arg(SUPERGATEWAY);
        run(install)?;
    }
    Ok(script)
}

fn install_fastmcp(folder: &Path) -> Result<PathBuf> {
    let wanted = fs::read(root().join(REQUIREMENTS))?;
    let venv = folder.join("venv");
    let python = venv.join("bin/python");
    let stamp = venv.join(".installed");
    if !fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        let mut make = command("python3", &["-m", "venv", "--clear"]);
        make.arg(&venv);
        run(make)?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
        let mut install = command(&python, &pip);
        install.args(["-r", REQUIREMENTS]);
        run(install)?;
        fs::write(stamp, wanted)?;
    }
    Ok(python)
}
