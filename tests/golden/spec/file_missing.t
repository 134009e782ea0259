-- RUN: check absent.lua
-- >>> exit 1
absent.lua: error[no-file]: cannot read absent.lua: there is no such file
