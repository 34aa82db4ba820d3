//! Starts the `promptls` that is on the PATH.

use zed_extension_api::{self as zed, LanguageServerId, Result};

struct Promptls;

impl zed::Extension for Promptls {
    fn new() -> Self {
        Promptls
    }

    fn language_server_command(
        &mut self,
        _server: &LanguageServerId,
        worktree: &zed::Worktree,
    ) -> Result<zed::Command> {
        let command = worktree
            .which("promptls")
            .ok_or_else(|| "promptls is not on the PATH; install it with pip".to_string())?;
        Ok(zed::Command {
            command,
            args: Vec::new(),
            env: worktree.shell_env(),
        })
    }
}

zed::register_extension!(Promptls);
