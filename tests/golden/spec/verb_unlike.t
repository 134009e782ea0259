-- RUN: frobnicate job.lua
-- >>> exit 1
lockstep: there is no verb 'frobnicate'; see lockstep help
