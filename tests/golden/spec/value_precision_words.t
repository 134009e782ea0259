return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  precision = {
    "bf16",
    param = "int8",
    compute = "fp64",
    grad = "tf32",
    reduce = "int8",
    master = "bf16",
    update = "split",
    moments = "fp16",
    loss_scale = true,
    linear = "int8",
  },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:7:13: error[unknown-word]: precision.param: "int8" is not one of: fp32
    bf16 fp16
    7 |     param = "int8",
      |             ^~~~~~
        fix: param = "bf16"
    note: weights that train need the bits that updates change; codes are for
    products: precision.linear = "fp8"
job.lua:8:15: error[unknown-word]: precision.compute: "fp64" is not one of: fp32
    bf16 fp16 tf32
    8 |     compute = "fp64",
      |               ^~~~~~
        fix: compute = "fp32"
    note: nothing is computed in fp64 but sums of squares and rates
job.lua:9:12: error[unknown-word]: precision.grad: "tf32" is not one of: fp32
    bf16 fp16
    9 |     grad = "tf32",
      |            ^~~~~~
        fix: grad = "fp32"
    note: tf32 rounds inputs of products, and nothing is stored so:
    precision.compute
job.lua:10:14: error[unknown-word]: precision.reduce: "int8" is not one of: fp32
    bf16 fp16
   10 |     reduce = "int8",
      |              ^~~~~~
        fix: reduce = "bf16"
    note: ranks are added up in it
job.lua:11:14: error[unknown-word]: precision.master: "bf16" is not one of: fp32
    split none
   11 |     master = "bf16",
      |              ^~~~~~
        fix: master = "fp32"
    note: it would have no bit more than the weight; split keeps fp32 in 2 bytes
    more
job.lua:12:14: error[unknown-word]: precision.update: "split" is not one of:
    nearest stochastic kahan
   12 |     update = "split",
      |              ^~~~~~~
        fix: update = "nearest"
    note: a master keeps what rounding loses: precision.master
job.lua:13:15: error[unknown-word]: precision.moments: "fp16" is not one of:
    fp32 bf16 int8
   13 |     moments = "fp16",
      |               ^~~~~~
        fix: moments = "bf16"
    note: numbers of fp16 end at 6e-8, so that v, a mean of squares, would
    become 0
job.lua:14:18: error[wrong-type]: precision.loss_scale: expected "dynamic",
    "torch", "deepspeed", "megatron", a number, or a table such as { "dynamic",
    init = 65536 }; got true
   14 |     loss_scale = true,
      |                  ^~~~
        fix: remove loss_scale
job.lua:15:14: error[unknown-word]: precision.linear: "int8" is not one of:
    compute fp8
   15 |     linear = "int8",
      |              ^~~~~~
        fix: linear = "fp8"
    note: codes of fp8 are the only ones that linear layers multiply
9 errors
