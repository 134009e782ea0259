return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { zero = 3, zero_group = 4, zero_prefetch = 2, zero_keep = "0B", bucket = "1MiB" },
}
-- >>> exit 3
job.lua: error[unproven]: the plan breaks a promise; this is a defect of lockstep
    note: values: replica train_step, call 30 (tied wte.weight.gather, micro-batch 0): what call 30
    record 0 (communication tied wte.weight.gather) wrote to tied wte.weight parameters, gathered is
    gone, and was never read
    note: values: replica train_step, call 31 (begin.gather, micro-batch 0): what call 31 record 0
    (communication begin.gather) wrote to begin parameters, gathered is gone, and was never read
    note: values: replica train_step, call 71 (tied wte.weight.gather, micro-batch 1): what call 71
    record 0 (communication tied wte.weight.gather) wrote to tied wte.weight parameters, gathered is
    gone, and was never read
    note: values: replica train_step, call 72 (begin.gather, micro-batch 1): what call 72 record 0
    (communication begin.gather) wrote to begin parameters, gathered is gone, and was never read
    note: values: replica train_step, call 71 (tied wte.weight.gather, micro-batch 1, second
    iteration): what call 71 record 0 (communication tied wte.weight.gather) wrote to tied
    wte.weight parameters, gathered is gone, and was never read
    note: values: replica train_step, call 72 (begin.gather, micro-batch 1, second iteration): what
    call 72 record 0 (communication begin.gather) wrote to begin parameters, gathered is gone, and
    was never read
    note: values: replica train_step, call 112 (tied wte.weight.gather, micro-batch 7): what call
    112 record 0 (communication tied wte.weight.gather) wrote to tied wte.weight parameters,
    gathered is gone, and was never read
    note: values: replica train_step, call 113 (begin.gather, micro-batch 7): what call 113 record 0
    (communication begin.gather) wrote to begin parameters, gathered is gone, and was never read
    note: step: replica train_step, call 1 (tied wte.weight.gather, micro-batch 0): micro-batch 0 of
    8, but the flags say neither
    note: step: replica train_step, call 2 (begin.gather, micro-batch 0): micro-batch 0 of 8, but
    the flags say neither
    note: step: replica train_step, call 3 (h.gather, layer 0, micro-batch 0): micro-batch 0 of 8,
    but the flags say neither
    note: step: replica train_step, call 4 (h.gather, layer 1, micro-batch 0): micro-batch 0 of 8,
    but the flags say neither
    note: step: replica train_step, call 6 (h.gather, layer 2, micro-batch 0): micro-batch 0 of 8,
    but the flags say neither
    note: step: replica train_step, call 8 (h.gather, layer 3, micro-batch 0): micro-batch 0 of 8,
    but the flags say neither
    note: step: replica train_step, call 10 (tied wte.weight.gather, micro-batch 0): micro-batch 0
    of 8, but the flags say neither
    note: step: replica train_step, call 11 (end.gather, micro-batch 0): micro-batch 0 of 8, but the
    flags say neither
    note: step: replica train_step, call 15 (tied wte.weight.gather, micro-batch 0): micro-batch 0
    of 8, but the flags say neither
    note: step: replica train_step, call 16 (end.gather, micro-batch 0): micro-batch 0 of 8, but the
    flags say neither
    note: step: replica train_step, call 17 (h.gather, layer 3, micro-batch 0): micro-batch 0 of 8,
    but the flags say neither
    note: step: replica train_step, call 18 (h.gather, layer 2, micro-batch 0): micro-batch 0 of 8,
    but the flags say neither
    note: step: replica train_step, call 22 (h.gather, layer 1, micro-batch 0): micro-batch 0 of 8,
    but the flags say neither
    note: step: replica train_step, call 26 (h.gather, layer 0, micro-batch 0): micro-batch 0 of 8,
    but the flags say neither
    note: step: replica train_step, call 30 (tied wte.weight.gather, micro-batch 0): micro-batch 0
    of 8, but the flags say neither
    note: step: replica train_step, call 31 (begin.gather, micro-batch 0): micro-batch 0 of 8, but
    the flags say neither
    note: step: replica train_step, call 83 (tied wte.weight.gather, micro-batch 7): micro-batch 7
    of 8, but the flags say neither
    note: step: replica train_step, call 84 (begin.gather, micro-batch 7): micro-batch 7 of 8, but
    the flags say neither
    note: step: replica train_step, call 85 (h.gather, layer 0, micro-batch 7): micro-batch 7 of 8,
    but the flags say neither
    note: step: replica train_step, call 86 (h.gather, layer 1, micro-batch 7): micro-batch 7 of 8,
    but the flags say neither
    note: step: replica train_step, call 88 (h.gather, layer 2, micro-batch 7): micro-batch 7 of 8,
    but the flags say neither
    note: step: replica train_step, call 90 (h.gather, layer 3, micro-batch 7): micro-batch 7 of 8,
    but the flags say neither
    note: step: replica train_step, call 92 (tied wte.weight.gather, micro-batch 7): micro-batch 7
    of 8, but the flags say neither
    note: step: replica train_step, call 93 (end.gather, micro-batch 7): micro-batch 7 of 8, but the
    flags say neither
