-- RUN: check $'a\033[31mb\nc.lua'
-- SETUP: printf 'return' > $'a\033[31mb\nc.lua'

-- >>> exit 1
a\x1b[31mb\nc.lua: error[not-a-job]: a job file ends with: return job { ... }
