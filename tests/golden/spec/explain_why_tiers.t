-- RUN: explain job.lua -q --why rank=0 | grep -E "memory|file|bytes|master|moment m|staged"
return job {
  model = { "llama", layers = 3, width = 64, heads = 4, kv_heads = 2, ffn = 128, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 32, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  checkpoint = { every = "never" },
  offload = { optimizer = { "nvme", share = "50%" }, path = "/scratch" },
}
-- >>> exit 0
         bytes         offset  kind           buffer
       147,968        963,072  master         model.layers master
       147,968      1,111,040  moment m       model.layers moment m
        65,536        100,608  master         begin master
        65,536        166,144  moment m       begin moment m
in host memory at that moment
       196,608          4,864  master         states, of a file, layer 1
       196,608        201,472  moment m       states, of a file, layer 1
       196,608        398,080  moment v       states, of a file, layer 1
       196,608        594,688  master         states, of a file, layer 2
       196,608        791,296  moment m       states, of a file, layer 2
       196,608        987,904  moment v       states, of a file, layer 2
         4,096            768  micro-batches  staged steps
in the rank's file at that moment
       393,216              0  master         model.layers master
       393,216        393,216  moment m       model.layers moment m
       131,072      1,179,648  master         end master
       131,072      1,310,720  moment m       end moment m
