-- RUN: help initial_scale_power
-- >>> exit 0
fp16.initial_scale_power, a key of DeepSpeed: that is precision.loss_scale here,
    { "deepspeed", init = 2^N }
    precision = { loss_scale = { "deepspeed", init = 2^16 } }
    precision.loss_scale: factor of the loss, for compute fp16: a word, or {
    "dynamic", init = 65536, window = 1000, growth = 2, backoff = 0.5,
    hysteresis = 2, min = 1, late = 0, refill = 0, most_skips = 50 } with any of
    these numbers; or a number, which stays; docs/precision.md has how it moves;
    derived: dynamic when compute is fp16, else none
