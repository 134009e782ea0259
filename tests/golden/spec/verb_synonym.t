-- RUN: train job.lua
-- >>> exit 1
lockstep: there is no verb 'train'; did you mean 'run'?
