-- SETUP: printf 'return job {\n  name = "a\0b",\n}\n' > job.lua
-- >>> exit 1
job.lua:2:12: error[not-text]: a job or model file is UTF-8 text; here is the
    byte 0x00
    2 |   name = "a
      |            ^
