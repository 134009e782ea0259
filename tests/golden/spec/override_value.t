-- RUN: check job.lua --no-data -D train.steps=many -D optimizer=adamm -D data.shuffle=maybe
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
-D data.shuffle=maybe: error[wrong-type]: data.shuffle: expected true or false;
    got "maybe"
-D optimizer=adamm: error[unknown-word]: optimizer: "adamm" is not one of: adamw
    sgd lion
        fix: -D optimizer=adamw
-D train.steps=many: error[unit]: train.steps: expected 1000, "10Gi tokens" or
    "3 epochs"; got "many"
3 errors
