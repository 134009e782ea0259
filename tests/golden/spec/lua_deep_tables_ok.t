return job { train = {{{{{{{{{{{{{{{{{{{{{{{{{{{{{{}}}}}}}}}}}}}}}}}}}}}}}}}}}}}} }
-- >>> exit 1
job.lua: error[missing-key]: data.train is missing: training shards; required
    unless synthetic; { "a.tok", weight = 5 } in the list: each entry is a
    source, whose samples have this share; weight 1 without one
        fix: data = { train = "data/train_*.bin" }
job.lua: error[missing-key]: the job has no model
        fix: model = "gpt2-124m"
job.lua: error[missing-key]: the job has no optimizer
        fix: optimizer = { "adamw", lr = 6e-4 }
job.lua:1:23: error[wrong-type]: train holds a value without a key: a table
    1 | return job { train = {{{{{{{{{{{{{{{{{{{{{{{{{{{{{{}}}}}}}}}}}}}}}}}}}}}}}}}}}}}} }
      |                       ^
4 errors
