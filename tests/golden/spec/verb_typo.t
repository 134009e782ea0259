-- RUN: chek job.lua
-- >>> exit 1
lockstep: there is no verb 'chek'; did you mean 'check'?
