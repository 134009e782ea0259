-- RUN: help precision.loss_scale.most_skips
-- >>> exit 0
precision.loss_scale.most_skips
    so many skipped steps in a row end the run
    precision = { "fp16", loss_scale = { "dynamic", most_skips = 50 } }
