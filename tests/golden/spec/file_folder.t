-- RUN: check d.lua
-- SETUP: mkdir d.lua
-- >>> exit 1
d.lua: error[no-file]: cannot read d.lua: it is a directory
