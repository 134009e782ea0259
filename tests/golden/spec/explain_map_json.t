-- RUN: explain job.lua --map --json
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "frontier-like", nodes = 2 },
  parallel = { tp = 2, pp = 2 },
}
-- >>> exit 0
{"version":1,"order":"tp cp dp pp","communication_s":4.21212667e-06,
 "orders":[{"order":"tp cp pp dp","communication_s":1.04815667e-05,"tp_leaves_domain":false},{"order":"tp cp dp pp","communication_s":4.21212667e-06,"tp_leaves_domain":false},{"order":"cp pp tp dp","communication_s":1.04815667e-05,"tp_leaves_domain":false},{"order":"cp pp dp tp","communication_s":7.20446e-06,"tp_leaves_domain":true},{"order":"cp dp pp tp","communication_s":7.20446e-06,"tp_leaves_domain":true},{"order":"cp dp tp pp","communication_s":4.21212667e-06,"tp_leaves_domain":false}],
 "ranks":[
  {"rank":0,"node":0,"device":0,"tp":0,"cp":0,"pp":0,"dp":0,"numa":3,"pci":"0000:c1:00.0","nic":"hsn0","cores":"48-55,112-119"},
  {"rank":1,"node":0,"device":1,"tp":1,"cp":0,"pp":0,"dp":0,"numa":3,"pci":"0000:c6:00.0","nic":"hsn0","cores":"56-63,120-127"},
  {"rank":2,"node":0,"device":2,"tp":0,"cp":0,"pp":0,"dp":1,"numa":1,"pci":"0000:c9:00.0","nic":"hsn1","cores":"16-23,80-87"},
  {"rank":3,"node":0,"device":3,"tp":1,"cp":0,"pp":0,"dp":1,"numa":1,"pci":"0000:ce:00.0","nic":"hsn1","cores":"24-31,88-95"},
  {"rank":4,"node":0,"device":4,"tp":0,"cp":0,"pp":0,"dp":2,"numa":0,"pci":"0000:d1:00.0","nic":"hsn2","cores":"0-7,64-71"},
  {"rank":5,"node":0,"device":5,"tp":1,"cp":0,"pp":0,"dp":2,"numa":0,"pci":"0000:d6:00.0","nic":"hsn2","cores":"8-15,72-79"},
  {"rank":6,"node":0,"device":6,"tp":0,"cp":0,"pp":0,"dp":3,"numa":2,"pci":"0000:d9:00.0","nic":"hsn3","cores":"32-39,96-103"},
  {"rank":7,"node":0,"device":7,"tp":1,"cp":0,"pp":0,"dp":3,"numa":2,"pci":"0000:de:00.0","nic":"hsn3","cores":"40-47,104-111"},
  {"rank":8,"node":1,"device":0,"tp":0,"cp":0,"pp":1,"dp":0,"numa":3,"pci":"0000:c1:00.0","nic":"hsn0","cores":"48-55,112-119"},
  {"rank":9,"node":1,"device":1,"tp":1,"cp":0,"pp":1,"dp":0,"numa":3,"pci":"0000:c6:00.0","nic":"hsn0","cores":"56-63,120-127"},
  {"rank":10,"node":1,"device":2,"tp":0,"cp":0,"pp":1,"dp":1,"numa":1,"pci":"0000:c9:00.0","nic":"hsn1","cores":"16-23,80-87"},
  {"rank":11,"node":1,"device":3,"tp":1,"cp":0,"pp":1,"dp":1,"numa":1,"pci":"0000:ce:00.0","nic":"hsn1","cores":"24-31,88-95"},
  {"rank":12,"node":1,"device":4,"tp":0,"cp":0,"pp":1,"dp":2,"numa":0,"pci":"0000:d1:00.0","nic":"hsn2","cores":"0-7,64-71"},
  {"rank":13,"node":1,"device":5,"tp":1,"cp":0,"pp":1,"dp":2,"numa":0,"pci":"0000:d6:00.0","nic":"hsn2","cores":"8-15,72-79"},
  {"rank":14,"node":1,"device":6,"tp":0,"cp":0,"pp":1,"dp":3,"numa":2,"pci":"0000:d9:00.0","nic":"hsn3","cores":"32-39,96-103"},
  {"rank":15,"node":1,"device":7,"tp":1,"cp":0,"pp":1,"dp":3,"numa":2,"pci":"0000:de:00.0","nic":"hsn3","cores":"40-47,104-111"}]}
job.lua:7:29: lint[few-layers]: 4 layers on 2 stages are fewer than four a
    stage: stages cannot be balanced, and each waits for its neighbours more
    than it computes
    7 |   parallel = { tp = 2, pp = 2 },
      |                             ^
        fix: pp = 1
job.lua:7:29: lint[bubble]: stages idle 33.3 % of a step: (pp-1) / (m + pp-1)
    with m = 2 micro-batches; the slowest stage waits 210 us of 754 us
    7 |   parallel = { tp = 2, pp = 2 },
      |                             ^
        fix: batch = "36 sequences"
    note: m = 4: at most 20 %; m = 9: at most 10 %
