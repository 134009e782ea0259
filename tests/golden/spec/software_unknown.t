-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", software = "./mine.lua" },
}
-- FILE: mine.lua
return { attention = "sparse", overlaps = true, traffic = 0, slack = "1.1", gates = true, gathers = "pat" }
-- >>> exit 1
mine.lua:1:22: error[wrong-type]: attention: expected "flash", "unfused" or
    "selective"; got "sparse"
    1 | return { attention = "sparse", overlaps = true, traffic = 0, slack = "1.1", gates = true, 
      |                      ^~~~~~~~
        fix: attention = "flash"
mine.lua:1:32: error[unknown-key]: overlaps: no such key of this file
    1 | return { attention = "sparse", overlaps = true, traffic = 0, slack = "1.1", gates = true, 
      |                                ^~~~~~~~
        fix: overlap
mine.lua:1:59: error[wrong-type]: traffic: expected a number from 0.1 to 100;
    got 0
    1 | return { attention = "sparse", overlaps = true, traffic = 0, slack = "1.1", gates = true, 
      |                                                           ^
        fix: traffic = 1.2
mine.lua:1:70: error[wrong-type]: slack: expected a number from 0.1 to 100; got
    "1.1"
    1 |  overlaps = true, traffic = 0, slack = "1.1", gates = true, gathers = "pat" }
      |                                        ^~~~~
        fix: slack = 1.2
mine.lua:1:85: error[wrong-type]: gates: expected "joined" or "apart"; got true
    1 | e, traffic = 0, slack = "1.1", gates = true, gathers = "pat" }
      |                                        ^~~~
        fix: gates = "joined"
mine.lua:1:101: error[wrong-type]: gathers: expected "trees" or "nccl"; got
    "pat"
    1 | slack = "1.1", gates = true, gathers = "pat" }
      |                                        ^~~~~
        fix: gathers = "trees"
6 errors
