return job {
  model = "./other.lua",
  data = "synthetic",
  train = { batch = "8 samples", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: other.lua
return job { model = "gpt2-124m" }
-- >>> exit 1
other.lua:1:8: error[not-a-model]: this is a job file; a model file is wanted:
    return model { ... }
    1 | return job { model = "gpt2-124m" }
      |        ^~~
