-- RUN: check job.lua --no-data -D 'parallel.pipeline={"interleaved", chunks=4' -D 'optimizer={"sgd" lr=1}'
return job {
  model = { "gpt2", layers = 8, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = { "interleaved", chunks = 2 } },
}
-- >>> exit 1
-D optimizer={"sgd" lr=1}: error[syntax]: '}' expected near 'lr'
    note: a comma may be missing before 'lr'
-D parallel.pipeline={"interleaved", chunks=4: error[syntax]: '}' expected near
    <eof>
    note: the file ends before a text, a { or a function is closed
2 errors
