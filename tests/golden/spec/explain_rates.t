-- RUN: explain job.lua schedule 2>/dev/null
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 100 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { "wsd", warmup = 10, decay = 20, shape = "sqrt", floor = 0.1 },
}
-- >>> exit 0
schedule               wsd                     job: job.lua:6:16
schedule.warmup        10                      job: job.lua:6:32
schedule.warmup_floor  0                       default
schedule.floor         0.1                     job: job.lua:6:72
schedule.over          100                     derived: train.steps
schedule.decay         20                      job: job.lua:6:44
schedule.shape         sqrt                    job: job.lua:6:56
schedule.power         none                    derived

          step           lr    of lr
             1   1.0000e-04   10.00%  ####
             3   3.0000e-04   30.00%  ############
             5   5.0000e-04   50.00%  ####################
             7   7.0000e-04   70.00%  ############################
            10   1.0000e-03  100.00%  ########################################
            81   1.0000e-03  100.00%  ########################################
            82   7.9875e-04   79.88%  ################################
            84   6.5143e-04   65.14%  ##########################
            86   5.5000e-04   55.00%  ######################
            88   4.6755e-04   46.76%  ###################
            90   3.9626e-04   39.63%  ################
            92   3.3254e-04   33.25%  #############
            94   2.7440e-04   27.44%  ###########
            96   2.2058e-04   22.06%  #########
            98   1.7024e-04   17.02%  #######
           100   1.2279e-04   12.28%  #####
