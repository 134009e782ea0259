-- RUN: check job.lua
-- SETUP: head -c 4096 /dev/zero > train.u16
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 2, vocab = 256, positions = 32 },
  data = { train = "train.u16", format = "u16", documents = "apart" },
  train = { batch = "4 sequences", steps = 4 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:61: error[data]: documents = "apart" needs to know where documents
    begin, and train.u16 does not say it
    3 | rain.u16", format = "u16", documents = "apart" },
      |                                        ^~~~~~~
    note: lockstep tokenize --tokenizer PATH makes .tok files of texts, and of
    .jsonl files with the ids of documents
