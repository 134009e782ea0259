-- RUN: help adamw
-- >>> exit 0
adamw: an optimizer
    AdamW: two moments of each gradient, weight decay apart from them
    (Loshchilov and Hutter 2017)
    optimizer = { "adamw", ... }
