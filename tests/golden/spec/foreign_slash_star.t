return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 }, /* peak */
}
-- >>> exit 1
job.lua:5:39: error[syntax]: a long comment is written between --[[ and ]], not
    /* and */
    5 |   optimizer = { "adamw", lr = 1e-3 }, /* peak */
      |                                       ^~
        fix: --[[ peak ]]
