//! What stands around every page.

use crate::text::{Moment, Said};
use maud::{DOCTYPE, Markup, html};

/// A page in its frame.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    /// What the browser's tab says.
    pub(super) title: &'a str,
    /// The way to this page: addresses and what they are called.
    pub(super) way: &'a [(String, String)],
    /// Where its changes come from; none for a page that stays as it is.
    pub(super) live: Option<String>,
    /// When it was made.
    pub(super) moment: &'a Moment,
}

impl Frame<'_> {
    pub(super) fn around(&self, content: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (Said(self.title)) " · Longboat" }
                    link rel="icon" type="image/svg+xml" href="/assets/icon.svg";
                    link rel="stylesheet" href="/assets/longboat.css";
                    script src="/assets/idiomorph.min.js" defer {}
                    script src="/assets/longboat.js" defer {}
                }
                body {
                    a class="skip" href="#main" { "Skip to the content" }
                    (self.top())
                    main id="main" tabindex="-1" data-now=(self.moment.now.0) data-live=[self.live.as_deref()] {
                        noscript {
                            p class="banner" {
                                "Without scripts this page shows how things are now. To see them change, and to say something, allow the scripts of this address."
                            }
                        }
                        (content)
                    }
                    p id="outcome" class="outcome" role="status" aria-live="polite" {}
                }
            }
        }
    }

    fn top(&self) -> Markup {
        let here = self.way.len();
        html! {
            header class="top" {
                a class="brand" href="/" { (super::icon::Icon::Team.draw()) "Longboat" }
                @if here > 0 {
                    nav aria-label="Where you are" {
                        ol {
                            @for (n, (href, name)) in self.way.iter().enumerate() {
                                li {
                                    @if n + 1 == here {
                                        span aria-current="page" { (Said(name)) }
                                    } @else {
                                        a href=(href) { (Said(name)) }
                                    }
                                }
                            }
                        }
                    }
                }
                @if self.live.is_some() {
                    p id="link" class="link" data-state="connecting" role="status" aria-live="polite" {
                        span class="lamp" aria-hidden="true" {}
                        span class="word" { "connecting…" }
                    }
                }
            }
        }
    }
}

/// A page that says why there is no page.
#[must_use]
pub fn problem_page(title: &str, detail: &str, moment: &Moment) -> Markup {
    let content = html! {
        div class="lone" {
            h1 { (title) }
            p { (Said(detail)) }
            p { a href="/" { "To the sessions" } }
        }
    };
    Frame { title, way: &[], live: None, moment }.around(&content)
}
