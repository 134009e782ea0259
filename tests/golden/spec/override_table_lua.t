-- RUN: check job.lua --no-data -D 'parallel.pipeline={"interleaved", chunks=many}' -D 'parallel.stages={nil + 1}' -D 'memory={(function() while true do end end)()}'
return job {
  model = { "gpt2", layers = 8, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = { "interleaved", chunks = 2 } },
}
-- >>> exit 1
-D memory={(function() while true do end end)()}: error[limit]: this does not
    end: 20 million instructions were run; a usual file needs hundreds
-D parallel.pipeline={"interleaved", chunks=many}: error[unknown-name]: nothing
    is named 'many' here;
    text is written in quotes
        fix: "many"
-D parallel.stages={nil + 1}: error[lua-error]: attempt to perform arithmetic on
    a nil value
3 errors
