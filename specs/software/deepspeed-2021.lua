-- DeepSpeed's ZeRO-3 as Narayanan et al. 2021 (arXiv:2104.04473, table 2) ran it, with Megatron-LM's kernels.
-- Slack: the median of measured over expected times of its rows in bench/published, without slack.
return { attention = "unfused", overlap = false, traffic = 1.5, slack = 1.12 }
