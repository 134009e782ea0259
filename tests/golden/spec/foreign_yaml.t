model: gpt2
train:
  batch: 8 sequences
  steps: 10
-- >>> exit 1
job.lua:1:1: error[syntax]: = comes between a key and its value, not :;
    a job file is return job { key = value, ... }
    1 | model: gpt2
      | ^~~~~~
        fix: return job { model = "gpt2"
