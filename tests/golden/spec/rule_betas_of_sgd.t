return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "sgd", lr = 1e-3, beta1 = 0.9, eps = 1e-8 },
}
-- >>> exit 1
job.lua:5:43: error[conflict]: optimizer.beta1 is for adamw and lion; optimizer
    is "sgd"
    5 |   optimizer = { "sgd", lr = 1e-3, beta1 = 0.9, eps = 1e-8 },
      |                                           ^~~
        fix: remove beta1
job.lua:5:54: error[conflict]: optimizer.eps is for adamw; optimizer is "sgd"
    5 |   optimizer = { "sgd", lr = 1e-3, beta1 = 0.9, eps = 1e-8 },
      |                                                      ^~~~
        fix: remove eps
2 errors
