[model]
name = "gpt2"
[train]
steps = 10
-- >>> exit 1
job.lua:1:1: error[syntax]: a job file is Lua, not JSON or TOML: return job {
    ... }, keys without quotes, = for :
    1 | [model]
      | ^
        fix: return job {
