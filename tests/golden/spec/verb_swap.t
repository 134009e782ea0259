-- RUN: rnu job.lua
-- >>> exit 1
lockstep: there is no verb 'rnu'; did you mean 'run'?
