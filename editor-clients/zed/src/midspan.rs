//! Midspan in Zed: starts the program `midspan` as a language server.
//!
//! Zed asks no language server for inline completions; what this one offers is the completion menu.

use zed_extension_api::serde_json::{json, Value};
use zed_extension_api::settings::LspSettings;
use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree};

const MISSING: &str = "midspan is not on the PATH: install it (`uv tool install` in its checkout), \
     or give its full path in the setting `lsp.midspan.binary.path`";

struct Midspan;

impl zed::Extension for Midspan {
    fn new() -> Self {
        Self
    }

    /// The program of the setting `lsp.midspan.binary`, else the one on the PATH.
    fn language_server_command(&mut self, id: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let binary = LspSettings::for_worktree(id.as_ref(), worktree)?.binary;
        let (path, arguments, variables) = match binary {
            Some(binary) => (binary.path, binary.arguments, binary.env),
            None => (None, None, None),
        };
        let command = path.or_else(|| worktree.which("midspan")).ok_or(MISSING)?;
        let mut env = worktree.shell_env();
        env.extend(variables.unwrap_or_default());
        Ok(Command { command, args: arguments.unwrap_or_else(|| vec!["serve".into()]), env })
    }

    /// Those of the setting `lsp.midspan.initialization_options`, with the menu switched on.
    fn language_server_initialization_options(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<Value>> {
        let given = LspSettings::for_worktree(id.as_ref(), worktree)?.initialization_options;
        let mut options = given.filter(Value::is_object).unwrap_or_else(|| json!({}));
        if options.get("completion.menu").is_none() && options.pointer("/completion/menu").is_none() {
            options["completion.menu"] = json!(true);
        }
        Ok(Some(options))
    }

    /// Those of the setting `lsp.midspan.settings`, under the name by which the server asks for them.
    fn language_server_workspace_configuration(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<Value>> {
        let settings = LspSettings::for_worktree(id.as_ref(), worktree)?.settings;
        Ok(settings.map(|settings| json!({ "midspan": settings })))
    }
}

zed::register_extension!(Midspan);
