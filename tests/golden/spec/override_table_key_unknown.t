-- RUN: check job.lua --no-data -D parallel.pipeline.chunk=4 -D parallel.tp.size=2 -D parallel.pipelin.chunks=2 -D parallel.pipeline.=4
return job {
  model = { "gpt2", layers = 8, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = { "interleaved", chunks = 2 } },
}
-- >>> exit 1
-D parallel.pipelin.chunks=2: error[unknown-key]: parallel.pipelin: no such key;
    did you mean 'pipeline'?
        fix: pipeline
-D parallel.pipeline.=4: error[unknown-key]: parallel.pipeline has no key ''
        fix: -D parallel.pipeline.chunks=...
-D parallel.pipeline.chunk=4: error[unknown-key]: parallel.pipeline has no key
    'chunk'
        fix: -D parallel.pipeline.chunks=...
-D parallel.tp.size=2: error[unknown-key]: parallel.tp has no key 'size'
4 errors
