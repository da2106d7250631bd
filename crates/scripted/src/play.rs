//! Sends a reply, or what goes wrong with it: the body of a response as a stream of pieces, holds and
//! an end. It chooses nothing; `server.rs` does.

use crate::exchange::Exchange;
use crate::script::{Hold, Step};
use crate::stage::Stage;
use bytes::Bytes;
use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The body of a response.
pub(crate) type Body = UnsyncBoxBody<Bytes, CutShort>;

/// Ends a connection without the end of a response, because the script says so.
#[derive(Debug, thiserror::Error)]
#[error("cut by the script")]
pub(crate) struct CutShort;

/// How a reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// As it should.
    Whole,
    /// With what goes wrong in the middle, as it should otherwise.
    Wrong,
    /// The connection is closed after so many bytes.
    Cut(usize),
    /// Nothing more comes after so many bytes.
    Stall(usize),
}

/// A part of a reply's way out.
#[derive(Debug)]
enum Act {
    Send(Bytes),
    Pause(Duration),
    Hold(Hold),
    Answered,
    Cut,
    Stall,
}

/// A body that is there at once.
pub(crate) fn whole(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A reply's body: the pieces up to the end of its text, and the rest. A reply that goes wrong is
/// never withheld.
pub(crate) fn body(
    stage: Arc<Stage>,
    exchange: Exchange,
    step: &Step,
    (said, rest): (Vec<Bytes>, Vec<Bytes>),
    end: End,
) -> Body {
    let hold = step.hold_after_text.clone().filter(|_| end == End::Whole);
    let (mut left, last) = match end {
        End::Whole => (usize::MAX, Some(Act::Answered)),
        End::Wrong => (usize::MAX, None),
        End::Cut(bytes) => (bytes, Some(Act::Cut)),
        End::Stall(bytes) => (bytes, Some(Act::Stall)),
    };
    let said = said.into_iter().map(Act::Send);
    let planned = said.chain(hold.map(Act::Hold)).chain(rest.into_iter().map(Act::Send));
    let mut acts = VecDeque::new();
    for act in planned {
        let Act::Send(mut bytes) = act else {
            acts.push_back(act);
            continue;
        };
        bytes.truncate(left);
        left -= bytes.len();
        if !bytes.is_empty() {
            if step.gap_ms > 0 && !acts.is_empty() {
                acts.push_back(Act::Pause(Duration::from_millis(step.gap_ms)));
            }
            acts.push_back(Act::Send(bytes));
        }
    }
    acts.extend(last);
    let frames = stream::unfold((stage, exchange, acts), |(stage, exchange, mut acts)| async {
        let sent = play(&stage, &exchange, &mut acts).await?;
        Some((sent.map(Frame::data), (stage, exchange, acts)))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Plays up to the next piece; nothing when the reply is over.
async fn play(
    stage: &Arc<Stage>,
    exchange: &Exchange,
    acts: &mut VecDeque<Act>,
) -> Option<Result<Bytes, CutShort>> {
    loop {
        match acts.pop_front()? {
            Act::Send(bytes) => return Some(Ok(bytes)),
            Act::Pause(pause) => tokio::time::sleep(pause).await,
            Act::Hold(hold) => stage.wait(&hold, exchange).await,
            Act::Answered => stage.answered(exchange),
            Act::Cut => {
                // What was sent goes out while the body has nothing to give.
                tokio::task::yield_now().await;
                return Some(Err(CutShort));
            }
            Act::Stall => {
                let _held = stage.hold(exchange);
                std::future::pending::<()>().await;
            }
        }
    }
}
