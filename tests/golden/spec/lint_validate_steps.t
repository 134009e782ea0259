-- RUN: check job.lua
-- SETUP: printf 'abcdefgh%.0s' $(seq 64) > t.u8 && printf 'abcdefgh%.0s' $(seq 20) > v.u8
return job {
  model = { "gpt2", layers = 1, width = 32, heads = 2, vocab = 256, positions = 16 },
  data = { train = "t.u8", valid = "v.u8", format = "u8" },
  train = { batch = "4 sequences", steps = 10, validate_every = 5, validate_steps = 1000 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua:4:85: lint[no-effect]: validate_steps asks for 4,000 sequences, and
    data.valid has 10: a validation reads all of it
    4 | , validate_every = 5, validate_steps = 1000 },
      |                                        ^~~~
        fix: validate_steps = 3
job.lua: right
