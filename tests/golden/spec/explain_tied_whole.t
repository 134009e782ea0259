-- RUN: explain job.lua 2>/dev/null | grep -E -A1 "^(M_grad|gradients:)"
-- Both uses of the table of words are on stage 0: its gradients stay whole, and the table says so.
return job {
  model     = { "gpt2", layers = 8, width = 64, heads = 4, vocab = 5000, positions = 64 },
  data      = "synthetic",
  train     = { batch = "16 sequences", microbatch = 1, context = 16, steps = 4 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel  = { pp = 2, zero = 2, pipeline = "zb-v" },
  cluster   = { "dgx-h100", devices = 4 },
}
-- >>> exit 0
M_grad   gradients                    0.002290   0.001801
M_opt    master                       0.001050   0.000401
--
gradients: fp32; 8 passes; 1/2 (zero 2) and 1.40 MB not yet reduced; tied
    wte.weight: whole
