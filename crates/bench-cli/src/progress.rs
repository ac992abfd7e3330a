//! How far a long command has come, on the standard error where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Redraws a second.
const RATE: u8 = 10;

/// A bar, or words where the end is not known; gone when dropped.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar that counts something.
    pub fn counting(what: &'static str) -> Self {
        let template = "{msg} [{bar:30}] {pos}/{len}";
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Progress::new(what, style.progress_chars("=> "))
    }

    /// A bar that counts bytes.
    pub fn bytes(what: &'static str) -> Self {
        let template = "{msg} {bytes}";
        let style = ProgressStyle::with_template(template);
        Progress::new(what, style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }

    /// Words, as long as it takes.
    pub fn waiting(what: &'static str) -> Self {
        let progress = Progress::new(what, ProgressStyle::default_spinner());
        progress.0.enable_steady_tick(Duration::from_millis(120));
        progress
    }

    fn new(what: &'static str, style: ProgressStyle) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(RATE));
        Progress(bar.with_style(style).with_message(what))
    }

    /// So many are done, of so many.
    pub fn set(&self, done: usize, of: usize) {
        if done == 1 {
            self.0.set_length(of as u64);
        }
        self.0.set_position(done as u64);
    }

    /// Something else is done now.
    pub fn say(&self, what: &'static str) {
        self.0.set_message(what);
    }

    /// So many are done.
    pub fn at(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
