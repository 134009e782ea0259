return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 1, calibration = "./rates.lua" },
}
-- FILE: rates.lua
return {
  device = "NVIDIA H100 80GB HBM3", processor = "p",
  rates = { host_link = { -5, "2026-11-27" }, disk_read = { 1e30, "2026-11-27" }, disk_write = { 5 } },
}
-- >>> exit 1
rates.lua:3:25: error[range]: rates.host_link is 1000000 to 1e+18 a second; got
    -5
    3 |   rates = { host_link = { -5, "2026-11-27" }, disk_read = { 1e30, "2026-11-27" }, disk_wri
      |                         ^
rates.lua:3:59: error[range]: rates.disk_read is 1000000 to 1e+18 a second; got
    1e+30
    3 |   rates = { host_link = { -5, "2026-11-27" }, disk_read = { 1e30, "2026-11-27" }, disk_wri
      |                                                           ^
rates.lua:3:96: error[wrong-type]: rates.disk_write: expected a number a second
    and a day; got another table
    3 | = { 1e30, "2026-11-27" }, disk_write = { 5 } },
      |                                        ^
        fix: disk_write = { 54200000000, "2026-11-27" }
3 errors
