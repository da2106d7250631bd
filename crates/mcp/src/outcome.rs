//! From what a server answers to what a model is told, bounded.

use crate::offer::shortened;
use base64::Engine;
use longboat_core::content::{Block, ToolOutcome, ToolStatus};
use longboat_core::limits::TOOL_RESULT_BYTES;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, ServerResult};
use serde_json::Value;
use std::path::Path;

/// Pictures of one result, and bytes of one in base64.
const PICTURES: usize = 8;
const PICTURE_BYTES: usize = 1_048_576 * 4;
/// Bytes of text that are shown from the beginning and from the end of a text that is too long.
const HEAD: usize = 8 * 1_024;
const TAIL: usize = 16 * 1_024;
/// What wires take.
const PICTURE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What a model is told of a server's answer. Text that is too long goes to `spill`.
pub(crate) async fn outcome(answer: ServerResult, spill: &Path) -> ToolOutcome {
    let (blocks, failed) = match answer {
        ServerResult::CallToolResult(result) => told(result),
        ServerResult::CustomResult(custom) => match custom.0.get("content") {
            Some(Value::Array(content)) => {
                let failed = custom.0.get("isError") == Some(&Value::Bool(true));
                (content.iter().cloned().map(leniently).collect(), failed)
            }
            _ => return ToolOutcome::error("its server answered with what is no tool's result"),
        },
        ServerResult::EmptyResult(_) => (Vec::new(), false),
        ServerResult::InputRequiredResult(_) => {
            return ToolOutcome::error(
                "it asks a person for input in the middle of the call, which is not possible here",
            );
        }
        ServerResult::CreateTaskResult(_) => {
            return ToolOutcome::error("it answers later, as a task, which is not possible here");
        }
        _ => return ToolOutcome::error("its server answered with what is no tool's result"),
    };
    let status = if failed { ToolStatus::Error } else { ToolStatus::Ok };
    ToolOutcome { status, content: bounded(blocks, spill).await }
}

fn told(result: CallToolResult) -> (Vec<Block>, bool) {
    let mut blocks: Vec<Block> = result.content.into_iter().map(block).collect();
    // Servers are asked to repeat it as text; most do.
    if let Some(structured) = result.structured_content {
        let repeated = blocks.iter().any(|block| match block {
            Block::Text { text } => {
                serde_json::from_str::<Value>(text).is_ok_and(|text| text == structured)
            }
            Block::Image { .. } => false,
        });
        if !repeated {
            blocks.push(Block::text(structured.to_string()));
        }
    }
    (blocks, result.is_error == Some(true))
}

/// A block that may be of a kind that is newer than this build.
fn leniently(value: Value) -> Block {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or("no kind").to_owned();
    serde_json::from_value(value).map_or_else(
        |_| Block::text(format!("[a block of {} cannot be shown]", shortened(&kind, 40))),
        block,
    )
}

fn block(block: ContentBlock) -> Block {
    match block {
        ContentBlock::Text(text) => Block::text(text.text),
        ContentBlock::Image(image) => picture(image.mime_type, image.data),
        ContentBlock::Audio(audio) => {
            let kind = shortened(&audio.mime_type, 80);
            Block::text(format!("[a sound of {kind}, which cannot be played]"))
        }
        ContentBlock::Resource(embedded) => resource(embedded.resource),
        ContentBlock::ResourceLink(link) => {
            let kind = link.mime_type.map(|kind| format!(" ({kind})")).unwrap_or_default();
            Block::text(format!("[a resource: {} at {}{kind}]", link.name, link.uri))
        }
        _ => Block::text("[a block that cannot be shown]"),
    }
}

fn resource(contents: ResourceContents) -> Block {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            Block::text(format!("[the resource {uri}]\n{text}"))
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            match mime_type.filter(|kind| PICTURE_TYPES.contains(&kind.as_str())) {
                Some(kind) => picture(kind, blob),
                None => {
                    let size = blob.len() / 4 * 3;
                    Block::text(format!("[the resource {uri}: about {size} bytes, not text]"))
                }
            }
        }
        _ => Block::text("[a resource that cannot be shown]"),
    }
}

/// A picture that wires take, or why it is not shown: one bad picture would spoil every request
/// from here on.
fn picture(media_type: String, data: String) -> Block {
    let known = PICTURE_TYPES.contains(&media_type.as_str());
    if !known {
        let kind = shortened(&media_type, 80);
        return Block::text(format!("[a picture of {kind}, which cannot be shown]"));
    }
    if data.len() > PICTURE_BYTES {
        let size = data.len();
        return Block::text(format!("[a picture of {size} bytes; the limit is {PICTURE_BYTES}]"));
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(&data);
    match bytes {
        Ok(bytes) if looks_like(&media_type, &bytes) => Block::Image { media_type, data },
        _ => Block::text(format!("[a picture that is no {media_type}]")),
    }
}

fn looks_like(media_type: &str, bytes: &[u8]) -> bool {
    match media_type {
        "image/png" => bytes.starts_with(b"\x89PNG"),
        "image/jpeg" => bytes.starts_with(b"\xff\xd8\xff"),
        "image/gif" => bytes.starts_with(b"GIF8"),
        _ => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
    }
}

/// Holds a result to what a conversation carries. Whole, it is in a file then.
async fn bounded(blocks: Vec<Block>, spill: &Path) -> Vec<Block> {
    let mut texts: Vec<String> = Vec::new();
    let mut kept: Vec<Block> = Vec::new();
    let mut pictures = 0;
    for block in blocks {
        match block {
            Block::Image { .. } if pictures == PICTURES => {}
            Block::Image { .. } => {
                pictures += 1;
                kept.push(block);
            }
            Block::Text { text } => {
                texts.push(text.clone());
                // What follows a text directly is one with it.
                if let Some(Block::Text { text: before }) = kept.last_mut() {
                    before.push('\n');
                    before.push_str(&text);
                } else {
                    kept.push(Block::Text { text });
                }
            }
        }
    }
    let text = texts.join("\n");
    if text.len() > TOOL_RESULT_BYTES {
        kept.retain(|block| matches!(block, Block::Image { .. }));
        kept.insert(0, Block::text(cut(&text, spill).await));
    }
    if kept.is_empty() {
        kept.push(Block::text("[it says nothing]"));
    }
    kept
}

/// The beginning and the end of a text, and where all of it is.
async fn cut(text: &str, spill: &Path) -> String {
    let start = (0..=HEAD).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let from = text.len().saturating_sub(TAIL);
    let end = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let where_to = match keep(text, spill).await {
        Ok(()) => format!("all of it is in {}", spill.display()),
        Err(error) => format!("it could not be kept in a file: {error}"),
    };
    let left = end.saturating_sub(start);
    let (head, tail) = (text.get(..start), text.get(end..));
    let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
    format!("{head}\n[… {left} of {} bytes are left out; {where_to}]\n{tail}", text.len())
}

async fn keep(text: &str, spill: &Path) -> std::io::Result<()> {
    if let Some(directory) = spill.parent() {
        tokio::fs::create_dir_all(directory).await?;
    }
    tokio::fs::write(spill, text).await
}
