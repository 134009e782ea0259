-- RUN: explain job.lua --json
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 256, positions = 32 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-4 },
  parallel = { cp = 2, pp = 2, zero = 3 },
  cluster = { "dgx-h100", nodes = 2, devices = 8 },
}
-- >>> exit 0
{"version":2,"job":"job","reason":null,"model":"gpt2","parameters":218496,"flops_per_token":1327104,
 "batch_samples":64,"sample_tokens":32,"microbatch":1,"accumulation":16,"steps":10,
 "ranks":16,"tp":1,"cp":2,"pp":2,"dp":4,"zero":3,"shard_ranks":8,"sequence":false,"pipeline":"1f1b",
 "at_least":{"gpu_hours":2.15972e-05,"core_hours":null,"node_hours":2.69966e-06,"cost":null},
 "bubble":0.058824,"imbalance":0.001026,
 "recompute":"none","without_recompute":0,"threads":1,"predicted_step_ns":485938,
 "memory":{"parameters":241664,"parameters, cast":0,"gradients":617472,"master":60416,"compensation":0,"moment m":60416,"moment v":60416,"activations":137472,"activation gradients":4096,"scratch of one call":33564904,"gradients on the wire":239616,"micro-batches":4096,"what changes between steps":104,"live":34991360,"peak":34991360,"arena":34991360,"budget":84269849190},
 "classes":[{"name":"stage 0","ranks":8,"predicted_ns":482656,"microbatch_ns":488,"memory":{"parameters":241664,"parameters, cast":0,"gradients":617472,"master":60416,"compensation":0,"moment m":60416,"moment v":60416,"activations":137472,"activation gradients":4096,"scratch of one call":33564904,"gradients on the wire":239616,"micro-batches":4096,"what changes between steps":104,"live":34991360,"peak":34991360,"arena":34991360,"host":8704},"launches":1791,"flat_calls":616,"communicators":[{"over":"cp","ranks":2,"lane":"cp","in_node":true,"estimated":402653184},{"over":"dp+cp","ranks":8,"lane":"dp","in_node":true,"estimated":301989888},{"over":"pp","ranks":2,"lane":"pp","in_node":false,"estimated":67108864},{"over":"dp+pp+cp","ranks":16,"lane":"compute","in_node":false,"estimated":805306368}]},
  {"name":"stage 1","ranks":8,"predicted_ns":485938,"microbatch_ns":487,"memory":{"parameters":238592,"parameters, cast":0,"gradients":674304,"master":59904,"compensation":0,"moment m":59904,"moment v":59904,"activations":33280,"activation gradients":8192,"scratch of one call":33564904,"gradients on the wire":230400,"micro-batches":4096,"what changes between steps":104,"live":34934016,"peak":34934016,"arena":34934016,"host":8704},"launches":1791,"flat_calls":633,"communicators":[{"over":"cp","ranks":2,"lane":"cp","in_node":true,"estimated":402653184},{"over":"dp+cp","ranks":8,"lane":"dp","in_node":true,"estimated":301989888},{"over":"pp","ranks":2,"lane":"pp","in_node":false,"estimated":67108864},{"over":"dp+pp+cp","ranks":16,"lane":"compute","in_node":false,"estimated":805306368}]}]}
