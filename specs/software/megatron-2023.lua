-- The Megatron-LM that Zero Bubble is built on (Qi et al. 2023, arXiv:2401.10241): as of 2022.
-- Slack: the median of measured over expected times of its rows in bench/published, without slack.
return { attention = "unfused", overlap = false, traffic = 1.5, slack = 1.07 }
