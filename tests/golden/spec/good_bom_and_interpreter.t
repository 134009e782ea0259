-- RUN: check job.lua --no-data
-- SETUP: printf '\xef\xbb\xbf#!/usr/bin/lockstep\nreturn job { model = "gpt2-124m", data = "synthetic", train = { batch = "1 sequences", steps = 1 }, optimizer = { "sgd", lr = 1 }, cluster = { "dgx-h100", devices = 1 } }\n' > job.lua
-- >>> exit 0
job.lua: right
