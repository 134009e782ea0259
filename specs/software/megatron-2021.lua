-- Megatron-LM of 2021 (Narayanan et al. 2021, arXiv:2104.04473): attention as products, softmax and dropout, gradients summed
-- after the last micro-batch.
-- Slack: the median of measured over expected times of its rows in bench/published, without slack.
return { attention = "unfused", overlap = false, traffic = 1.5, slack = 1.12 }
