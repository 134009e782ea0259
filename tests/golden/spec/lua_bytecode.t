-- SETUP: printf '\033Lua\x54\0\x19\x93' > job.lua
-- >>> exit 1
job.lua:1:1: error[not-text]: a job or model file is UTF-8 text; here is the
    byte 0x1b
    1 | ?LuaT
      | ^
