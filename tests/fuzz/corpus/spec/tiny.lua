-- A GPT of 858,880 parameters on the bytes of the King James Bible: the first thing to run, on any laptop.
--   text   bible -f gen1:1-rev22:21 > bible.txt;  lockstep tokenize bible.txt -o data/bible --hold-out 5%
--   run    lockstep run examples/tiny.lua
return job {
  model     = { "gpt2", layers = 4, width = 128, heads = 4, vocab = 256, positions = 256 },
  data      = { train = "../data/bible/train.u8", valid = "../data/bible/valid.u8", format = "u8" },
  train     = { batch = "16 sequences", microbatch = 16, steps = 300, validate_every = 50 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule  = { "cosine", warmup = 20 },
  precision = "fp32",
}
