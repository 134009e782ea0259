-- RUN: check job.lua
-- SETUP: { printf '\210\330\064\001\001\0\0\0\144\0\0\0'; head -c 1212 /dev/zero; } > a.bin
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.bin", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.bin: begins with llm.c's header: say format =
    "llmc"
    3 |   data = { train = "a.bin", format = "u16" },
      |                    ^~~~~~~
        fix: format = "llmc"
