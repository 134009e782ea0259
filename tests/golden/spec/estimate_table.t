-- RUN: estimate --csv table.csv --template job.lua
return job {
  model = { "gpt2", layers = 2, width = 128, heads = 2, vocab = 512, positions = 256 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
}
-- FILE: table.csv
"parallel.tp",parallel.pipeline,parallel.pp
"2",,
"","{""interleaved"", chunks=2}",2
"3",,
-- >>> exit 1
"parallel.tp",parallel.pipeline,parallel.pp,step_ms,live_bytes,arena_bytes,budget_bytes,fits,mfu,error
"2",,,1.165238,38260736,38361088,80914835046,yes,0.0014,
"","{""interleaved"", chunks=2}",2,0.353337,40486912,40486912,83230090854,yes,0.0046,
"3",,,,,,,,,tp 3 x cp 1 x pp 1 = 3 does not divide 1 node x 4 devices = 4 ranks; tp may be 1 2 4
lockstep: lines refused: 1 of 3; column error says why
