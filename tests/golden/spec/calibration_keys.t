return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 1, calibration = "./rates.lua" },
}
-- FILE: rates.lua
return {
  procesor = "p",
  rates = { hostlink = { 5, "2026-11-27" }, disk_read = "5GB/s" },
}
-- >>> exit 1
rates.lua:2:3: error[unknown-key]: procesor: no such key of a calibration file
    2 |   procesor = "p",
      |   ^~~~~~~~
        fix: processor
rates.lua:3:13: error[unknown-key]: hostlink: no such key of a calibration file
    3 |   rates = { hostlink = { 5, "2026-11-27" }, disk_read = "5GB/s" },
      |             ^~~~~~~~
        fix: host_link
rates.lua:3:57: error[wrong-type]: rates.disk_read: expected a number a second
    and a day; got "5GB/s"
    3 |   rates = { hostlink = { 5, "2026-11-27" }, disk_read = "5GB/s" },
      |                                                         ^~~~~~~
        fix: disk_read = { 54200000000, "2026-11-27" }
3 errors
