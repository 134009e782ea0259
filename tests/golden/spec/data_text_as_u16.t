-- RUN: check job.lua
-- SETUP: yes 'To be or not to be.' | head -50 > a.txt
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.txt", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.txt: is text, not u16 tokens: bytes as tokens,
    which lockstep tokenize makes of it, are format = "u8"
    3 |   data = { train = "a.txt", format = "u16" },
      |                    ^~~~~~~
