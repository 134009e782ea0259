-- Megatron-LM of 2022 with selective recomputation: backward makes the scores again (Korthikanti et al. 2022, section 5).
-- Slack: the median of measured over expected times of its rows in bench/published, without slack.
return { attention = "selective", overlap = false, traffic = 1.5, slack = 1.07 }
