//! The code blocks of a document.

/// A fenced code block.
#[derive(Debug)]
pub(crate) struct Block {
    /// The line of its first line of code, from 1.
    pub(crate) line: usize,
    /// The first word after the fence: `rust` of `rust,no_run`.
    pub(crate) language: String,
    pub(crate) text: String,
}

/// Every code block of a document, in order.
///
/// # Errors
/// Blocks without a language, and blocks without an end; nothing is skipped in silence.
pub(crate) fn blocks(document: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut errors = Vec::new();
    let mut open: Option<(Block, usize)> = None;
    // Whether indented lines belong to an item of a list, and whether a blank line is above.
    let (mut in_list, mut after_blank) = (false, true);
    for (number, line) in (1..).zip(document.lines()) {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if let Some((block, outer)) = &mut open {
            if code == "```" {
                blocks.extend(open.take().map(|(block, _)| block));
            } else {
                block
                    .text
                    .push_str(line.get((*outer).min(indent)..).unwrap_or_default());
                block.text.push('\n');
            }
            continue;
        }
        if let Some(info) = code.strip_prefix("```") {
            let language = info.split(',').next().unwrap_or_default().trim().to_owned();
            if language.is_empty() {
                errors.push(format!("line {number}: a code block without a language"));
            }
            let (line, text) = (number + 1, String::new());
            open = Some((Block { line, language, text }, indent));
        } else if code.starts_with("~~~") || (indent >= 4 && after_blank && !in_list) {
            errors.push(format!(
                "line {number}: a code block without a language; use a fence of ```"
            ));
        } else if !code.is_empty() && indent < 2 {
            let is_number = |mark: &str| mark.ends_with('.') && mark[..mark.len() - 1].parse::<u32>().is_ok();
            in_list = code
                .split(' ')
                .next()
                .is_some_and(|mark| ["-", "*"].contains(&mark) || is_number(mark));
        }
        after_blank = code.is_empty();
    }
    if let Some((block, _)) = open {
        errors.push(format!("line {}: a code block without an end", block.line - 1));
    }
    if errors.is_empty() {
        Ok(blocks)
    } else {
        Err(errors.join("\n"))
    }
}

/// A command of a block, with the output that the document shows.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) line: usize,
    pub(crate) text: String,
    /// `None` in a block of commands alone.
    pub(crate) output: Option<String>,
}

impl Block {
    /// The commands of a block in the language `sh` (commands and comments) or `console` (`$ command`, and its output).
    pub(crate) fn commands(&self) -> Result<Vec<Command>, String> {
        let is_console = self.language == "console";
        let mut commands: Vec<Command> = Vec::new();
        let mut is_continued = false;
        for (line, text) in (self.line..).zip(self.text.lines()) {
            if is_continued {
                let command = commands.last_mut().expect("the command that is continued");
                command.text.push('\n');
                command.text.push_str(text);
            } else if let Some(text) = text.strip_prefix("$ ").filter(|_| is_console) {
                let (text, output) = (text.to_owned(), Some(String::new()));
                commands.push(Command { line, text, output });
            } else if is_console {
                let command = commands
                    .last_mut()
                    .ok_or_else(|| format!("line {line}: expected `$ ` and a command"))?;
                let output = command.output.get_or_insert_default();
                output.push_str(text);
                output.push('\n');
                continue;
            } else if !text.is_empty() && !text.starts_with('#') {
                let text = text.split("  #").next().unwrap_or_default().trim_end().to_owned();
                commands.push(Command {
                    line,
                    text,
                    output: None,
                });
            }
            is_continued = text.ends_with('\\');
        }
        Ok(commands)
    }
}

#[test]
fn blocks_without_a_language_and_without_an_end_are_errors() {
    let error = blocks("text\n\n    code\n\n```\ncode\n```\n\n```sh\nls").expect_err("three faults");
    let lines: Vec<_> = error.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(lines, ["line 3", "line 5", "line 9"]);
}

#[test]
fn commands_and_their_outputs_are_read() {
    let read = |document| blocks(document).expect("blocks")[0].commands().expect("commands");
    let console = read("1. item\n\n   ```console\n   $ a \\\n     b\n   one\n   two\n   $ c\n   ```\n");
    let console: Vec<_> = console
        .iter()
        .map(|command| (command.text.as_str(), command.output.as_deref()))
        .collect();
    assert_eq!(console, [("a \\\n  b", Some("one\ntwo\n")), ("c", Some(""))]);
    let shell = read("```sh\n# why\na b    # why\n\nc\n```\n");
    assert_eq!(
        shell
            .iter()
            .map(|command| (command.text.as_str(), command.line))
            .collect::<Vec<_>>(),
        [("a b", 3), ("c", 5)]
    );
}
