-- The same job on eight replicas: everything but the cluster is inherited.
-- Same batch, so the same loss curve: 512 sequences = 8 replicas * 1 pass of 64.
return job { "./gpt2_124m.lua",
  reason  = "model and states are 2.2 GB a rank; replicas beat sharding",
  cluster = "dgx-h100",
}
