return job { name = "empty" }
-- >>> exit 1
job.lua: error[missing-key]: data.train is missing: training shards; required
    unless synthetic; { "a.tok", weight = 5 } in the list: each entry is a
    source, whose samples have this share; weight 1 without one
        fix: data = { train = "data/train_*.bin" }
job.lua: error[missing-key]: the job has no model
        fix: model = "gpt2-124m"
job.lua: error[missing-key]: the job has no optimizer
        fix: optimizer = { "adamw", lr = 6e-4 }
job.lua: error[missing-key]: train.batch is missing: one optimizer step over the
    whole job; accumulation follows
        fix: batch = "64 sequences"
job.lua: error[missing-key]: train.steps is missing: length of the run
        fix: steps = 1000
5 errors
