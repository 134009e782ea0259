-- SETUP: printf '\377\376r\000' > job.lua

-- >>> exit 1
job.lua:1:1: error[not-text]: the file is UTF-16 text; save it as UTF-8
    1 | ??r
      | ^
