-- RUN: show a.plan
-- SETUP: printf 'hello world\n' > a.plan
-- >>> exit 1
lockstep: a.plan: not a plan
