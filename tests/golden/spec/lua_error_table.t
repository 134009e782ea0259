error({ code = 5 })
-- >>> exit 1
job.lua:1:1: error[lua-error]: error() was called with a table in place of a
    text
    1 | error({ code = 5 })
      | ^~~~~
