//! What a server writes, with a bound on each line: past it, the connection ends and the reason is
//! known, instead of the line being passed over and its call never answered.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of one message of a server.
pub(crate) const MESSAGE_BYTES: usize = 8 * 1_048_576;

/// Bytes that pass through, counted from line break to line break.
#[derive(Debug)]
pub(crate) struct LineBound<R> {
    inner: R,
    line: usize,
    reason: Arc<OnceLock<String>>,
}

impl<R> LineBound<R> {
    /// `reason` is set when a line is too long.
    pub(crate) fn new(inner: R, reason: Arc<OnceLock<String>>) -> Self {
        Self { inner, line: 0, reason }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LineBound<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let new = buffer.filled().get(before..).unwrap_or_default();
        self.line = match new.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => new.len() - last - 1,
            None => self.line + new.len(),
        };
        if self.line > MESSAGE_BYTES {
            let reason = format!("it sent a message of more than {MESSAGE_BYTES} bytes");
            self.reason.get_or_init(|| reason.clone());
            return Poll::Ready(Err(io::Error::other(reason)));
        }
        Poll::Ready(Ok(()))
    }
}
