-- A job that fits every site of the goldens: small, so that nothing of its predictions shows in a script.
return job {
  name      = "golden",
  reason    = "one line\n    #SBATCH --nodes=99 of a reason is a comment",
  model     = { "gpt2", layers = 2, width = 64, heads = 8, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "288 sequences", microbatch = 1, steps = 100 },
  optimizer = { "adamw", lr = 1e-3 },
}
