return job {
  model = "gpt2-124m",
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { activation_checkpointing = "full", gradient_checkpointing = false },
}
-- >>> exit 1
job.lua:6:14: error[unknown-key]: memory.activation_checkpointing: no such key;
    that is memory.recompute here
    6 |   memory = { activation_checkpointing = "full", gradient_checkpointing = false },
      |              ^~~~~~~~~~~~~~~~~~~~~~~~
        fix: memory = { recompute = "block" }
job.lua:6:49: error[unknown-key]: memory.gradient_checkpointing: no such key;
    that is memory.recompute here
    6 |   memory = { activation_checkpointing = "full", gradient_checkpointing = false },
      |                                                 ^~~~~~~~~~~~~~~~~~~~~~
        fix: memory = { recompute = "none" }
2 errors
