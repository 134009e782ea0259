-- SETUP: printf 'return job {\n  name = "caf\xe9",\n}\n' > job.lua
-- >>> exit 1
job.lua:2:14: error[not-text]: a job or model file is UTF-8 text; here is the
    byte 0xe9; save it as UTF-8
    2 |   name = "caf?",
      |              ^
