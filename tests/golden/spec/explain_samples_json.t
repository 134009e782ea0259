-- RUN: explain job.lua --samples 1 --json
-- SETUP: printf 'a\\b\n\303\251cdefghijkl' > a.u8
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 8 },
  data = { train = "a.u8", format = "u8", shuffle = false },
  train = { batch = "1 sequences", context = 8, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
{"version": 1, "steps": [{"step": 1, "samples": [{"source": 0, "sample": 0, "document": null, "token": 0, "text": "a\\b\u000aécd"}]}]}
