-- Megatron-LM of 2022 (Korthikanti et al. 2022, arXiv:2205.05198): as of 2021 with fused softmax and bias, dropout, addition.
-- Slack: the median of measured over expected times of its rows in bench/published, without slack.
return { attention = "unfused", overlap = false, traffic = 1.5, slack = 1.07 }
