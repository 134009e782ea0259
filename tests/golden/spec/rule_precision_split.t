return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", param = "fp32", master = "split", update = "kahan" },
}
-- >>> exit 1
job.lua:6:50: error[conflict]: precision.master: a split master is the lower
    half of fp32, beside a bf16 weight as its upper half; param is fp32
    6 |   precision = { "bf16", param = "fp32", master = "split", update = "kahan" },
      |                                                  ^~~~~~~
        fix: param = "bf16"
job.lua:6:68: error[conflict]: precision.update: "kahan" is for bf16 weights;
    param is fp32, which loses no update
    6 | m = "fp32", master = "split", update = "kahan" },
      |                                        ^~~~~~~
        fix: remove update
2 errors
