-- RUN: check job.lua
-- SETUP: yes 'To be or not to be' | head -50 > a
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[format]: a is text; a run reads tokens, which are made of it
    first
    3 |   data = { train = "a" },
      |                    ^~~
        fix: lockstep tokenize a -o tokens, then train = "tokens/train.u8", format = "u8"
