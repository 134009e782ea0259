-- The same job on four replicas, threads of this machine. Same batch, so the same loss at every step:
-- 16 sequences = 4 replicas * 1 pass of 4.
return job { "./tiny.lua",
  reason  = "shows that four ranks train what one rank trains",
  train   = { microbatch = 4 },
  cluster = { "here", devices = 4 },
}
