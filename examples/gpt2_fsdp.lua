-- The same job with everything shared over eight ranks, as FSDP's FULL_SHARD does: weights, gradients, states.
--   state   124e6 * 18 B / 8 = 0.28 GB a rank; gathered at once: the table of words, 77 MB, and two layers of 14 MB
--   sent    weights come twice a micro-batch and gradients leave once; replicas would send gradients once a step
return job { "./gpt2_124m.lua",
  reason   = "124M fit whole: this is to see what sharding costs",
  parallel = { shard = "full" },
  cluster  = "dgx-h100",
}
