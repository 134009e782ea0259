-- RUN: diff job.plan job.lua && "$lockstep" diff job.plan other.plan | grep -E 'budget|exposed tp|a second'; echo $?; "$lockstep" diff job.plan other.plan -D train.steps=1; echo $?
-- SETUP: "$lockstep" compile job.lua -q -o job.plan; "$lockstep" compile job.lua -q -D parallel.tp=2 -o other.plan
return job {
  model = { "gpt2", layers = 2, width = 128, heads = 2, vocab = 512, positions = 256 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
}
-- >>> exit 0
the same bytes of each kind, bytes sent, and time
         exposed tp                    0.000000    0.616048   -0.616048 -100.0%
         tokens a second                7128065     1757581    +5370484 +305.6%
1
lockstep: -D changes a job, and both sides are plans; compile the jobs again
1
