-- RUN: help initial_scale_power
-- >>> exit 0
initial_scale_power: no such key; that is precision.loss_scale here, {
    "deepspeed", init = 2^N }
